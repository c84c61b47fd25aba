"""Conditional densities out of a density of two variables: values, bands, files, the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from dpfda import Domain, PrivateDensity, load
from dpfda.density.conditional_release import ReleasedConditionalDensity
from dpfda.density.release import ReleasedDensity
from dpfda.errors import ParameterError, StorageError
from dpfda.front.app import app
from dpfda.testing import check_release, simulate_density

ENDS = [(20.0, 80.0), (60.0, 200.0)]
LABELS = {"domain": "age (years)", "domain_2": "pressure (mmHg)"}
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def people(n: int, seed: int = 1) -> np.ndarray:
    """Ages around 45, pressures that rise and spread with them."""
    generator = np.random.default_rng(seed)
    ages = np.clip(generator.normal(45, 13, size=n), *ENDS[0])
    return np.column_stack([ages, generator.normal(*given(ages))])


def given(age: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the pressure at an age."""
    return 80 + 0.8 * np.asarray(age), 6 + 0.12 * np.asarray(age)


def simulated(
    points: np.ndarray, epsilon: float, seed: int = 0, noisy: bool = True, **parameters: object
) -> ReleasedDensity:
    domain = Domain(domain_range=ENDS, labels=LABELS)
    density = PrivateDensity(epsilon, domain=domain, unit="person", **parameters)
    return simulate_density(density.prepare(points), np.random.default_rng(seed), noisy)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands of fewer draws: how exact they are is not what is checked here."""
    monkeypatch.setattr("dpfda.density.cell_errors.DRAWS", 1000)
    monkeypatch.setattr("dpfda.density.conditional_release.DRAWS", 300)


@pytest.fixture(scope="module")
def release() -> ReleasedDensity:
    return simulated(people(4000), 1.0, cells=12)


@pytest.fixture(scope="module")
def path(release: ReleasedDensity, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.save(tmp_path_factory.mktemp("both") / "both.json")


def test_it_is_a_proper_density_everywhere_and_changes_little_with_the_place(
    release: ReleasedDensity,
) -> None:
    at = np.linspace(*ENDS[1], 701)
    rows = []
    for age in np.linspace(*ENDS[0], 121):
        conditional = release.conditional(age)
        assert conditional.node_values.min() >= 0
        assert conditional.integral() == pytest.approx(1)
        rows.append(conditional.cdf(at))
    # Half a year changes no share by more than six points in a hundred.
    assert np.abs(np.diff(rows, axis=0)).max() < 0.06


def test_values_are_those_of_the_plane_over_those_of_the_margin() -> None:
    """By quadrature over the smooth function of the plane, where hardly anything is taken off."""
    release = simulated(people(200_000), 10.0, cells=32)
    at, age = np.linspace(*ENDS[1], 4001), 45.0
    middles = (at[1:] + at[:-1]) / 2
    joint = release.raw(np.column_stack([np.full(4000, age), middles]))
    expected = joint / (joint.mean() * (ENDS[1][1] - ENDS[1][0]))
    found = release.conditional(age)(middles)
    assert np.abs(found - expected).max() < 0.02 * expected.max()
    # The other way round: an age given a pressure.
    ages = np.linspace(*ENDS[0], 2001)[1::2]
    joint = release.raw(np.column_stack([ages, np.full(1000, 116.0)]))
    expected = joint / (joint.mean() * (ENDS[0][1] - ENDS[0][0]))
    assert np.abs(release.conditional(116, axis=1)(ages) - expected).max() < 0.02 * expected.max()


def test_quantiles_are_those_of_the_population() -> None:
    release = simulated(people(20_000), 1.0)
    for age in (30.0, 45.0, 60.0):
        mean, deviation = given(age)
        conditional = release.conditional(age)
        expected = stats.norm.ppf(LEVELS, mean, deviation)
        # Measured: within .16 deviations over thirty simulated releases.
        np.testing.assert_allclose(conditional.quantile(LEVELS), expected, atol=0.4 * deviation)
        drawn = conditional.sample(2000, 3)
        assert stats.kstest(drawn, conditional.cdf).pvalue > 1e-6


def test_where_nobody_is_it_is_the_margin() -> None:
    generator = np.random.default_rng(5)
    points = np.column_stack([generator.uniform(20, 40, 3000), generator.normal(120, 15, 3000)])
    at, apart = np.linspace(*ENDS[1], 99), []
    for seed in range(8):
        release = simulated(points, 0.3, seed, cells=(6, 12))
        apart.append(np.abs(release.conditional(75.0).cdf(at) - release.cdf(at, axis=1)).max())
    # Measured: .07 on average over sixteen; without the factor and the least divisor .4.
    assert np.mean(apart) < 0.2


def test_the_band_holds_what_there_would_be_without_noise() -> None:
    points, held = people(2000), []
    for seed in range(20):
        # A public bandwidth: the same steps whatever the noise.
        made, exact = (
            simulated(points, 1.0, seed, noisy, cells=12, bandwidth=5.0) for noisy in (True, False)
        )
        conditional = made.conditional(50)
        band = conditional.band(0.9)
        assert band.lower.min() >= 0
        assert band.contains(conditional(band.points))
        held.append(band.contains(exact.conditional(50)(band.points)))
    # Of 20 at .9 (measured: .9 and more), 9 or fewer have a chance below 1e-6.
    assert sum(held) > 9


def test_pointwise_bands_are_narrower(release: ReleasedDensity) -> None:
    conditional = release.conditional(50)
    together, alone = conditional.band(), conditional.band(simultaneous=False)
    assert np.mean(alone.upper - alone.lower) < np.mean(together.upper - together.lower)
    with pytest.raises(ParameterError, match="exact must be left out"):
        conditional.band(exact=True)


def test_it_keeps_the_contract_and_says_what_is_given(release: ReleasedDensity, tmp_path) -> None:
    conditional = release.conditional(60)
    check_release(conditional)
    assert conditional.certificate == release.certificate
    assert conditional.view().title.startswith("Density given age = 60 of 4000 persons: pressure")
    assert "A probability density given age = 60 over pressure (mmHg)" in " ".join(
        conditional.describe().split()
    )
    assert conditional.facts["given"] == {"axis": 0, "value": 60.0}
    again = load(conditional.save(tmp_path / "given.json"))
    assert isinstance(again, ReleasedConditionalDensity)
    assert again(120.0) == conditional(120.0)
    assert conditional.smoothed(8.0).integral() == pytest.approx(1)


@pytest.mark.parametrize(
    ("value", "axis", "words"),
    [
        (19.0, 0, "value must lie in the domain from 20 to 80; found 19.0"),
        (np.nan, 0, "value must lie in the domain"),
        ("40", 0, "value must lie in the domain"),
        ([40.0, 50.0], 0, "value must"),
        (40.0, 2, "axis must be an integer from 0 to 1"),
    ],
)
def test_places_that_there_are_not(
    release: ReleasedDensity, value: object, axis: int, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        release.conditional(value, axis)  # type: ignore[arg-type]


def test_other_densities_have_none(release: ReleasedDensity) -> None:
    line = simulate_density(
        PrivateDensity(1, domain=(0, 1)).prepare(np.linspace(0, 1, 50)), np.random.default_rng(0)
    )
    for other in (line, release.conditional(50)):
        with pytest.raises(ParameterError, match="conditional must be asked of counts of two variables"):
            other.conditional(0.5)
    with pytest.raises(ParameterError, match="raw must be counts in the plane"):
        ReleasedConditionalDensity(line.raw, place=0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("changed", [{"axis": 2}, {"place": 300}, {"place": None}])
def test_a_damaged_file_is_refused(
    release: ReleasedDensity, tmp_path, changed: dict[str, object]
) -> None:
    path = tmp_path / "given.json"
    path.write_text(json.dumps(release.conditional(60).to_json() | changed))
    with pytest.raises(StorageError):
        load(path)


def run(*words: object) -> object:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_asks_for_one_given_the_other(
    release: ReleasedDensity, path: Path, tmp_path
) -> None:
    for words in ("age=60", "60"):
        made = run("eval", path, "--given", words, "--quantiles", "0.1,0.5", "--json")
        found = json.loads(made.stdout)
        np.testing.assert_allclose(found["point"], release.conditional(60).quantile([0.1, 0.5]))
    made = run("eval", path, "--given", "pressure=120", "--at", "45", "--json")
    assert json.loads(made.stdout)["value"] == [pytest.approx(release.conditional(120, 1)(45.0))]
    picture = tmp_path / "two.png"
    assert run("plot", path, "--given", "age=30,age=60", "--plot", picture).exit_code == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--given", "weight=60"), "--given must name one of"),
        (("--given", "old"), "--given must be a value of the first variable"),
        (("--given", "age=90"), "value must lie in the domain from 20 to 80"),
    ],
)
def test_the_command_refuses_in_words(path: Path, words: tuple[str, ...], said: str) -> None:
    result = run("eval", path, *words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_the_command_refuses_what_is_given_already(release: ReleasedDensity, tmp_path) -> None:
    again = run("eval", release.conditional(60).save(tmp_path / "given.json"), "--given", "40")
    assert "--given must be of a density of two variables" in " ".join(again.output.split())


def test_where_hardly_anybody_is_it_says_that_all_others_are_shown(tmp_path: Path) -> None:
    # Of 96 places of one law the error was 1 less `known` of that of the marginal, within .1 on average.
    release = simulated(people(1500), 1.0, cells=12)
    common, rare = release.conditional(45), release.conditional(80)
    assert isinstance(common, ReleasedConditionalDensity)
    assert isinstance(rare, ReleasedConditionalDensity)
    assert common.known > 0.9
    assert rare.known < 0.5
    part = f"{1 - rare.known:.0%} of what is shown is the density of all, whatever their value."
    assert f"Too few persons are near this value: {part}" in " ".join(rare.describe().split())
    assert "Too few" not in common.describe()
    (line,), (usual,) = rare.view().lines, common.view().lines
    assert (line.stroke, line.lower) == ("dashed", None)
    assert usual.stroke == "solid"
    assert usual.lower is not None
    release.save(tmp_path / "both.json")
    for given, told in (("80", True), ("point_1=45", False)):
        done = CliRunner().invoke(
            app, ["eval", str(tmp_path / "both.json"), "--given", given, "--at", "100"]
        )
        assert done.exit_code == 0, done.output
        assert ("too few persons are near this value" in done.output) == told


def test_no_probability_is_promised_of_a_band_that_was_measured(release: ReleasedDensity) -> None:
    words = release.conditional(50.0).facts.lines()["band"]
    assert words.startswith("meant to hold the density that would have been published without noise")
    assert "everywhere in 95 of 100 releases" in words
