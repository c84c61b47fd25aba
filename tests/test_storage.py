"""Files: exact round trips, damage and strangers refused by their words, whole or not at all."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda import Domain, PrivateMean, load
from dpfda.errors import StorageError
from dpfda.privacy.certificates import guarantee_from_json, guarantee_to_json
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpfda.publication.custody import Agreement, Answer, Card, Keys, Part, Roll
from dpfda.releases.files import check_writable, write_text
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.kinds import SCHEMA_VERSION
from sample_releases import CURVES, GRID, RELEASES, custom_kernel

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module", params=RELEASES.values(), ids=RELEASES.keys())
def release(request: Any) -> ReleasedFunction:
    made: ReleasedFunction = request.param()
    return made


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return RELEASES["pure"]().save(tmp_path / "pure.json")


def assert_same(again: ReleasedFunction, release: ReleasedFunction) -> None:
    at = np.linspace(*release.domain_range, 57)
    assert again(at).tobytes() == release(at).tobytes()
    assert again.coefficients.tobytes() == release.coefficients.tobytes()
    for simultaneous in (True, False):
        first, second = (r.band(0.9, simultaneous, at) for r in (release, again))
        assert first.lower.tobytes() == second.lower.tobytes()
        assert first.upper.tobytes() == second.upper.tobytes()
    for name in ("noisy_sum", "exponent", "noise", "certificate", "order"):
        assert getattr(again, name) == getattr(release, name), name
    assert again.divisor == release.divisor
    assert again.center.tobytes() == release.center.tobytes()
    assert again.integral() == release.integral()
    assert json.dumps(again.to_json()) == json.dumps(release.to_json())


class TestRoundTrip:
    def test_it_is_exact(self, release: ReleasedFunction, tmp_path: Path) -> None:
        path = release.save(tmp_path / "release.json")
        for again in (load(path), ReleasedFunction.load(str(path))):
            assert_same(again, release)
            assert repr(again) == repr(release)

    def test_derivatives_of_what_was_read(self, release: ReleasedFunction, tmp_path: Path) -> None:
        again = load(release.save(tmp_path / "release.json"))
        assert again.derivative()(GRID).tobytes() == release.derivative()(GRID).tobytes()

    def test_saving_again_gives_the_same_file(self, release: ReleasedFunction, tmp_path: Path) -> None:
        first = release.save(tmp_path / "first.json")
        second = load(first).save(tmp_path / "second.json")
        assert first.read_bytes() == second.read_bytes()

    def test_what_was_read_cannot_be_changed(self, saved: Path) -> None:
        again = load(saved)
        for array in (again.center, again.shrinkage, again.basis.analysis, again.grid_points):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0

    def test_a_person_can_read_it(self, saved: Path) -> None:
        written = json.loads(saved.read_text())
        assert written["format"] == "dpfda-release"
        assert written["schema_version"] == SCHEMA_VERSION
        assert written["guarantee"]["words"] == "1-differential privacy (pure)"
        assert written["guarantee"]["epsilon"] == 1.0
        assert written["neighbours"] == "replace-one"
        assert written["privacy_unit"] == "record"
        assert written["bound"]["lower"] == -3.0
        assert written["mechanism"]["name"] in ("cells", "knorm", "laplace")
        assert set(written["about"]["versions"]) >= {"dpfda", "numpy", "python-flint"}
        assert list(written)[:2] == ["format", "schema_version"]

    @pytest.mark.parametrize(
        "guarantee", [PureDP("1/3"), ApproximateDP("1/3", "1/7"), ZeroConcentratedDP("1/3")]
    )
    def test_guarantees_are_exact(self, guarantee: Any) -> None:
        assert guarantee_from_json(json.loads(json.dumps(guarantee_to_json(guarantee)))) == guarantee


class TestCustomKernels:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        fitted = PrivateMean(1.0, bounds=(-3, 3), domain=Domain(GRID), basis=custom_kernel).fit(CURVES)
        self.release = fitted.release_
        return fitted.release_.save(tmp_path / "custom.json")

    def test_the_function_is_not_written(self, path: Path) -> None:
        assert json.loads(path.read_text())["basis"]["kernel"] is None
        assert "custom_kernel" not in path.read_text()

    def test_it_must_be_passed(self, path: Path) -> None:
        words = "made with a custom kernel, which a file cannot hold. Pass the same function as kernel="
        with pytest.raises(StorageError, match=words):
            load(path)

    def test_the_same_gives_the_same(self, path: Path) -> None:
        assert_same(load(path, kernel=custom_kernel), self.release)

    def test_another_is_refused(self, path: Path) -> None:
        for wrong in (lambda s, t: np.exp(-np.abs(s - t)), lambda s, t: 1.1 * custom_kernel(s, t)):
            with pytest.raises(
                StorageError, match="kernel= is not the kernel that the release was made with"
            ):
                load(path, kernel=wrong)

    @pytest.mark.parametrize("wrong", [3.0, "rbf:1"])
    def test_what_is_no_kernel_is_refused(self, path: Path, wrong: Any) -> None:
        with pytest.raises(StorageError):
            load(path, kernel=wrong)


def _without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def damage(written: dict[str, Any]) -> None:
        place = written
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return damage


def _with(value: Any, *keys: str) -> Callable[[dict[str, Any]], None]:
    def damage(written: dict[str, Any]) -> None:
        place = written
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return damage


DAMAGE = {
    "no noisy sum": _without("noisy_sum"),
    "no basis": _without("basis"),
    "no exact guarantee": _without("guarantee", "exact"),
    "words for integers": _with(["a"], "noisy_sum"),
    "a number for a list": _with(3, "noisy_sum"),
    "fewer integers than scales": _with([1], "noisy_sum"),
    "more shrinkage than integers": _with([1.0] * 99, "shrinkage"),
    "shrinkage of words": _with("much", "shrinkage"),
    "a centre of another length": _with([0.0] * 4, "center"),
    "an unknown guarantee": _with("perfect", "guarantee", "kind"),
    "epsilon zero": _with("0", "guarantee", "exact", "epsilon"),
    "epsilon no number": _with("many", "guarantee", "exact", "epsilon"),
    "an unknown relation": _with("cousins", "neighbours"),
    "an unknown noise law": _with("pink", "noise", "law"),
    "no scales": _without("noise", "scales"),
    "an unknown basis": _with("wavelet", "basis", "kind"),
    "an unknown kernel": _with({"name": "os.system", "command": "true"}, "basis", "kernel"),
    "values that are no base64": _with("%%%", "basis", "values", "float64_base64"),
    "values cut short": _with(base64.b64encode(bytes(8)).decode(), "basis", "values", "float64_base64"),
    "another kernel range": _with(0.9, "basis", "kernel", "length_scale"),
    "no divisor": _with(None, "divisor"),
    "an unknown divisor": _with("other", "divisor", "kind"),
    "a divisor of zero": _with(0.0, "divisor", "value"),
    "an exponent of words": _with("high", "exponent"),
    "bound no mapping": _with(3, "bound"),
    "no domain": _with([0.0], "basis", "domain_range"),
}


class TestDamage:
    @pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
    def test_damaged_files_are_refused(self, saved: Path, damage: Callable[[Any], None]) -> None:
        written = json.loads(saved.read_text())
        damage(written)
        saved.write_text(json.dumps(written))
        with pytest.raises(StorageError, match=r"damaged|Unknown kind of basis|is not the kernel"):
            load(saved)

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
    def test_a_file_cut_short_is_refused(self, saved: Path, share: float) -> None:
        content = saved.read_bytes()
        saved.write_bytes(content[: int(share * len(content))])
        with pytest.raises(StorageError, match="must be a JSON file; found something else"):
            load(saved)

    def test_a_mark_of_the_byte_order_is_read_over(self, saved: Path) -> None:
        content = saved.read_bytes()
        written = load(saved).to_json()
        saved.write_bytes(b"\xef\xbb\xbf" + content)
        assert load(saved).to_json() == written

    @pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"not json", b"{", b"\x80abc"])
    def test_other_files_are_refused(self, saved: Path, content: bytes) -> None:
        saved.write_bytes(content)
        with pytest.raises(StorageError, match="must be a JSON file; found something else"):
            load(saved)

    @pytest.mark.parametrize("content", ["{}", "[]", "3", "null", '"text"', '{"format": "geojson"}'])
    def test_other_json_is_refused(self, saved: Path, content: str) -> None:
        saved.write_text(content)
        with pytest.raises(StorageError, match="must be a dpfda release; found another kind of file"):
            load(saved)

    @pytest.mark.parametrize("kind", [Agreement, Card, Keys, Part, Roll, Answer])
    def test_files_of_custodians_are_told_for_what_they_are(self, saved: Path, kind: Any) -> None:
        saved.write_text(json.dumps({"format": kind.FORMAT}))
        with pytest.raises(StorageError) as error:
            load(saved)
        what = str(error.value).partition("must be a dpfda release; found ")[2]
        assert what.startswith(("a custodian's ", "an agreement of custodians", "a roll of custodians"))

    @pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, "1", None, 0])
    def test_other_schemas_are_refused(self, saved: Path, version: Any) -> None:
        written = json.loads(saved.read_text()) | {"schema_version": version}
        saved.write_text(json.dumps(written))
        with pytest.raises(StorageError, match=f"must have schema version {SCHEMA_VERSION}; found") as e:
            load(saved)
        assert "Update dpfda to read later files." in str(e.value)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match=r"nowhere\.json' could not be read: No such file"):
            load(tmp_path / "nowhere.json")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="could not be read: Is a directory"):
            load(tmp_path)


class TestWriting:
    def test_a_missing_folder(self, tmp_path: Path) -> None:
        words = r"must be a file in an existing folder that can be written to; found .*Create the folder"
        with pytest.raises(StorageError, match=words):
            RELEASES["pure"]().save(tmp_path / "no" / "release.json")

    def test_a_folder_in_its_place(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="must be a file in an existing folder"):
            check_writable(tmp_path)

    def test_a_file_as_its_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(StorageError, match="must be a file in an existing folder"):
            check_writable(tmp_path / "file" / "release.json")

    def test_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(StorageError, match="that can be written to"):
            check_writable(tmp_path / "release.json")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_a_pipe_is_not_replaced(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(StorageError, match=r"must be a file; found .*device, pipe or socket"):
            RELEASES["pure"]().save(pipe)
        assert pipe.is_fifo()

    def test_a_file_that_may_not_be_overwritten(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        target = tmp_path / "release.json"
        target.write_text("mine")
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target)
        with pytest.raises(StorageError, match="exists and cannot be overwritten"):
            check_writable(target)
        assert target.read_text() == "mine"

    def test_a_failure_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        target = tmp_path / "release.json"
        target.write_text("old")

        def fail(*arguments: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(StorageError, match="could not be written: No space left on device"):
            write_text(target, "new")
        assert target.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["release.json"]

    def test_an_existing_file_is_replaced_where_that_is_asked_for(self, tmp_path: Path) -> None:
        target = tmp_path / "release.json"
        target.write_text("old" * 100_000)
        release = RELEASES["pure"]()
        with pytest.raises(StorageError, match=r"path must be a new file; found .*overwrite=True"):
            release.save(target)
        assert target.read_text() == "old" * 100_000
        # A script that ends here has lost nothing that was paid for.
        assert_same(load(tmp_path / "release-2.json"), release)
        with pytest.raises(StorageError, match=r"kept in '.*release-3\.json'"):
            release.save(target)
        assert release.save(target, overwrite=True) == target
        assert_same(load(target), release)

    @pytest.mark.parametrize(
        ("name", "remedy"),
        [("a.csv", "to_csv"), ("a.feather", "to_csv"), ("a.PNG", "savefig"), ("a.html", "report")],
    )
    def test_a_name_of_a_table_or_a_picture_is_no_release(
        self, tmp_path: Path, name: str, remedy: str
    ) -> None:
        release = RELEASES["pure"]()
        words = rf"path must end in \.json; found .*{name}'\. .*kept in '.*a\.json'.*{remedy}"
        with pytest.raises(StorageError, match=words):
            release.save(tmp_path / name)
        assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
        assert_same(load(tmp_path / "a.json"), release)


@pytest.mark.parametrize("ends", [(1e-9, 1e-100), (1e-9, 1e-10), (1, 1e-100), (1e6, 1e-100)])
def test_what_is_charged_at_the_ends_of_budgets_can_be_read_again(
    ends: tuple[float, float], tmp_path: Path
) -> None:
    mean = PrivateMean(*ends, bounds=(0, 1), mechanism="gaussian")
    release = mean.fit(np.full((9, 20), 0.5)).release_
    release.save(tmp_path / "mean.json")
    assert load(tmp_path / "mean.json").guarantee == release.guarantee
