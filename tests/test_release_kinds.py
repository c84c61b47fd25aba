"""Every kind of release through every door, and a kind of one's own through the same."""

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import sample_releases
from dpfda import load
from dpfda.errors import ParameterError, StorageError
from dpfda.front.app import app
from dpfda.numerics.encoding import mapping, number
from dpfda.privacy.certificates import Certificate, certificate_from_json
from dpfda.privacy.guarantees import PureDP
from dpfda.releases import entries
from dpfda.releases.bands import Asked
from dpfda.releases.base import Column, Release
from dpfda.releases.facts import Stated
from dpfda.releases.kinds import kinds
from dpfda.releases.plain import plain
from dpfda.testing import check_release
from dpfda.views import Curve, Line
from sample_releases import KINDS, certificate_of

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("few_draws")
# Three coordinates, and numbers without a place.
NOT_DRAWN = ("solid", "answers")


@dataclass(frozen=True, eq=False)
class Slope(Release):
    """A line through the origin with a noisy slope: a kind of release in one class."""

    slope: float
    certificate: Certificate
    about: Mapping[str, Any] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "toy-slope"
    _CALLED: ClassVar[str] = "slope"
    _ENTRIES: ClassVar[entries.Table] = {"slope": entries.NUMBER}

    def __call__(self, points: Any) -> Any:
        return self.slope * np.asarray(points)

    @property
    def _axes(self) -> dict[str, tuple[float, float]]:
        return {"point": (0.0, 1.0)}

    def _default_points(self) -> Any:
        return np.linspace(0, 1, 5)[:, None]

    def view(self, level: float | None = 0.95) -> Curve:
        at = self._default_points()[:, 0]
        return Curve((Line(at, self(at), "the line"),), "point", "value", *self.words)

    @property
    def words(self) -> tuple[str, str]:
        said = plain(self, 0.95)["words"]
        return said["title"], said["promise"]

    def _stated(self) -> Stated:
        return Stated(f"A line for every {self.unit}, and nothing else.")


class ByHand(Slope):
    """The same, which writes and reads its file by itself."""

    _FORMAT: ClassVar[str] = "toy-by-hand"

    def _to_entries(self) -> dict[str, Any]:
        return {"rise": self.slope}

    @classmethod
    def from_json(cls, written: dict[str, Any], kernel: Any = None) -> Self:
        return cls(number(written["rise"]), certificate_from_json(written), mapping(written["about"]))


OWN = "a kind of one's own"


def made(name: str) -> Any:
    return Slope(2.0, certificate_of(PureDP(1), "person")) if name == OWN else sample_releases.made(name)


@pytest.fixture(params=[*KINDS, OWN])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


# Kinds of a class of which the command has another in every run: the contract is kept by them all.
MORE = (
    "derivative of the default mean", "mean in a ball", "mean of a private number", "mean with weights",
    "bounds looked for", "two stages", "curve on a box", "density of whole numbers",
    "density of a private number", "density by a kernel", "median of a private number",
    "running mean, units in two months", "combined mean", "centiles of visits",
    "score curves beyond risks", "histogram in the plane", "covariance of a private number",
    "directions", "crossed groups", "difference", "test of slopes", "survival by group",
    "survival with causes", "hazards by rounds", "hazards in strata", "coefficient function",
    "curve at covariates", "regression on two inputs", "kernel regression",
    "kernel regression on two inputs", "margins", "probabilities", "lattice in the plane",
)  # fmt: skip
COMMANDED = [
    pytest.param(name, marks=pytest.mark.thorough) if name in MORE else name for name in (*KINDS, OWN)
]


@pytest.fixture
def release(name: str) -> Release:
    return made(name)


def run(*words: Any) -> Any:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_keeps_the_contract(release: Release) -> None:
    check_release(release)


def test_a_kind_may_write_its_file_by_itself() -> None:
    check_release(ByHand(2.0, certificate_of(PureDP(1), "person")))


@pytest.mark.parametrize("slope", [None, "2", True, [2.0]])
def test_a_table_of_entries_reads_strictly(slope: Any, tmp_path: Path) -> None:
    path = made(OWN).save(tmp_path / "slope.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"slope": slope}))
    with pytest.raises(StorageError, match="is damaged"):
        load(path)


def test_what_may_be_none_is_null_or_absent_in_a_file() -> None:
    table = {"first": entries.NUMBER.or_null, "second": entries.NUMBER.or_absent.named("two")}
    assert entries.to_file(SimpleNamespace(first=None, second=None), table) == {"first": None}
    assert entries.from_file({"first": None}, table) == {"first": None, "second": None}
    assert entries.from_file({"first": 1, "two": 2.5}, table) == {"first": 1.0, "second": 2.5}
    with pytest.raises(ValueError, match="not a number"):
        entries.from_file({"first": 1, "two": None}, table)
    with pytest.raises(KeyError):
        entries.from_file({}, table)


@pytest.mark.parametrize("name", COMMANDED, indirect=True)
def test_the_command_knows_it(
    release: Release, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = release.save(tmp_path / "release.json")
    # Without --json the same words are printed: test_every_kind_is_shown.
    told = json.loads(run("show", path, "--json"))
    assert told["report"] == release.describe()
    assert told["guarantee"]["words"] == str(release.guarantee)
    assert told["citation"] == release.facts.citation
    assert str(release.guarantee) in run("compose", path)
    table = release.table()
    answer = json.loads(run("eval", path, "--json"))
    for column, values in table.columns.items():
        assert answer[column] == values.tolist()
    if name not in NOT_DRAWN:
        # Reports render every kind; here the picture that would be written is looked at.
        figures: list[Figure] = []
        monkeypatch.setattr(Figure, "savefig", lambda figure, to, **_: figures.append(figure))
        run("plot", path, "--plot", tmp_path / "release.png")
        view, axes = release.view(), figures[0].axes[0]
        assert {axes.get_xlabel(), axes.get_ylabel()} == {view.x_label, view.y_label}


# What a stranger may have put in the place of any part of a file.
ODD: tuple[Any, ...] = (
    None, -1, 0, 2.5, 1e300, "x", "", [], {}, [1], [[1]], True, 10**30, "\x1b[31m", {"kind": "x"}, [None]
)  # fmt: skip


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the parts of JSON types are; of a list the first two."""
    for key in part if isinstance(part, dict) else range(min(2, len(part))):
        yield (*path, key)
        if isinstance(part[key], dict | list):
            yield from places(part[key], (*path, key))


def test_a_file_with_a_foreign_part_is_read_or_refused(release: Release, tmp_path: Path) -> None:
    chance, path = np.random.default_rng(2029), tmp_path / "release.json"
    written = release.to_json()
    found = [*places(written)]
    for place in (found[place] for place in chance.permutation(len(found))[:6]):
        changed = copy.deepcopy(written)
        inside = changed
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = ODD[chance.integers(len(ODD))]
        path.write_text(json.dumps(changed))
        with suppress(StorageError):
            repr(load(path))


def test_every_kind_is_in_the_sample() -> None:
    found = {made(name).to_json()["format"] for name in KINDS}
    shipped = {name for name, kind in kinds().items() if kind.__module__.startswith("dpfda.")}
    assert found >= shipped


def test_two_kinds_of_one_name_are_refused() -> None:
    with pytest.raises(ParameterError, match="_FORMAT must name one kind of release; found 'toy-slope'"):

        class Other(Release):
            _FORMAT = "toy-slope"


def test_a_file_whose_words_cannot_be_said_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(OWN).save(tmp_path / "slope.json")
    monkeypatch.setattr(Slope, "__repr__", lambda self: self.slope.words)
    with pytest.raises(StorageError, match="is damaged: AttributeError"):
        load(path)


def test_a_file_of_another_kind_is_refused_by_a_kind(tmp_path: Path) -> None:
    path = made(OWN).save(tmp_path / "slope.json")
    words = "must be a released density; found toy-slope. Read it with dpfda.load"
    with pytest.raises(StorageError, match=words):
        type(made("density")).load(path)
    assert isinstance(load(path), Slope)


class Broken(Slope):
    """What the contract is there to find."""

    _FORMAT: ClassVar[str] = "toy-broken"


class Forgetful(Broken):
    _FORMAT: ClassVar[str] = "toy-forgetful"

    def _to_entries(self) -> dict[str, Any]:
        return {"slope": round(self.slope)}


class Silent(Broken):
    _FORMAT: ClassVar[str] = "toy-silent"

    @property
    def _citation(self) -> str:
        return "A line."


class Drifting(Broken):
    _FORMAT: ClassVar[str] = "toy-drifting"

    def _columns(self, at: Any, asked: Asked) -> dict[str, Column]:
        return {"value": (self(at[:, 0]) + len(at), "value")}


class Escaping(Broken):
    _FORMAT: ClassVar[str] = "toy-escaping"

    def _columns(self, at: Any, asked: Asked) -> dict[str, Column]:
        values = self(at[:, 0])
        ends = {"lower": values + 1, "upper": values + 2}
        return {"value": (values, "value")} | {name: (end, name) for name, end in ends.items()}


class Secretive(Broken):
    _FORMAT: ClassVar[str] = "toy-secretive"

    @property
    def _subtitle(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Forgetful, "it comes back with other"),
        (Silent, "it is not said who is protected"),
        (Drifting, "value depends on the points beside it"),
        (Escaping, "values leave their band"),
        (Secretive, "the guarantee is not said"),
    ],
)
def test_the_contract_finds_what_breaks_it(kind: type[Slope], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_release(kind(2.25, certificate_of(PureDP(1), "person")))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("quantiles", "How far a value is off"),
        ("reference band", "It is one itself"),
        ("synthetic curves", "How far synthetic curves"),
        ("clusters of curves", "Noise also moves units"),
        ("covariance of visits", "Sampling and smoothing"),
        ("components", "How far noise turned a component"),
        ("several values", r"Ask one of them, release\[name\]"),
        ("comparison", r"release.difference\(a, b\)"),
        ("test of equality", "P-values follow"),
        ("answers", "Each answer has an interval"),
    ],
)
def test_a_kind_without_a_band_says_why_and_where_to_ask(kind: str, reason: str) -> None:
    made = sample_releases.made(kind)
    for of in (None, "noise", "sample", "population"):
        with pytest.raises(ParameterError, match=f"band must be asked of what states one; .*{reason}"):
            made.band(0.9, of=of)
