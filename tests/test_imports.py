"""What importing the package and running the command load, and that estimators are scikit-learn's."""

import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("dask", "matplotlib", "numba", "pandas", "pyarrow", "rich", "typer")
SCIPY = ("fft", "interpolate", "linalg", "ndimage", "optimize", "sparse", "spatial", "special", "stats")
NAMES = ("Session", "Ledger", "load")
GOLDEN = Path(__file__).parent / "golden" / "v1"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


@pytest.mark.parametrize("statement", ["import dpfda", f"from dpfda import {', '.join(NAMES)}"])
def test_an_import_of_what_is_no_estimator_loads_nothing_that_only_a_fit_needs(statement: str) -> None:
    unwanted = {*HEAVY, "sklearn", *(f"scipy.{part}" for part in SCIPY)}
    assert run(f"import sys\n{statement}\nprint(sorted({unwanted} & set(sys.modules)))") == "[]"


ESTIMATOR = """
from dpfda import PrivateComparison, PrivateMean
mean = PrivateMean(1.0, bounds=(0, 1), missing="complete")
from sklearn.base import BaseEstimator, clone
assert isinstance(mean, BaseEstimator)
assert issubclass(PrivateComparison, BaseEstimator)
assert PrivateMean.__mro__.count(BaseEstimator) == 1
assert clone(mean).get_params()["epsilon"] == 1.0
assert mean.get_params()["reading"].missing == "complete"
# Requests for metadata are made for every subclass.
assert callable(mean.set_fit_request) and callable(PrivateComparison.set_fit_request)
"""


@pytest.mark.parametrize("first", ["", "import sklearn.base\n"])
def test_an_estimator_is_one_of_scikit_learn_whichever_is_imported_first(first: str) -> None:
    run(first + ESTIMATOR)


def test_an_estimator_is_unpickled_where_none_was_made_before() -> None:
    from dpfda import PrivateMean

    pickled = pickle.dumps(PrivateMean(2.0, bounds=(0, 1)))
    code = f"import pickle\nprint(pickle.loads({pickled!r}).get_params()['epsilon'])"
    assert run(code) == "2.0"


LOADED = """
import sys
from dpfda.front import main
sys.argv = ["dpfda", *{typed!r}]
try:
    main()
finally:
    print(sorted({unwanted} & set(sys.modules)))
"""
OFFERED = ["--units", "500", "--epsilon", "1"]
BOUNDED, AGE, ILL = ["--bounds", "0", "1"], ["--covariate", "age:18:90"], ["--target", "ill:yes,no"]


@pytest.mark.parametrize(
    "typed",
    [
        ["show", str(GOLDEN / "mean_pure.json")],
        ["plan", *OFFERED, *BOUNDED],
        *(["plan", verb, *OFFERED, *BOUNDED] for verb in ("covariance", "fpca", "reference", "sample")),
        ["plan", "month", *OFFERED, *BOUNDED, "--steps", "60"],
        ["plan", "scalar", *OFFERED, *BOUNDED, "--target", "score:0:60"],
        ["plan", "effects", *OFFERED, *BOUNDED, *AGE],
        ["plan", "cox", *OFFERED, *AGE, "--domain", "0", "10"],
    ],
    ids=lambda typed: " ".join(typed[:2]),
)
def test_what_needs_nothing_of_scipy_loads_nothing_of_it(typed: list[str]) -> None:
    unwanted = {*HEAVY, "sklearn", "scipy", *(f"scipy.{part}" for part in SCIPY)} - {"typer"}
    assert run(LOADED.format(typed=typed, unwanted=unwanted)).splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "typed",
    [["regress", *AGE, "--target", "pressure:60:200"], ["classify", *AGE, *ILL]],
    ids=lambda typed: typed[0],
)
def test_machines_are_planned_without_scikit_learn(typed: list[str]) -> None:
    unwanted = {"numba", "pandas", "sklearn", "scipy.stats"}
    written = run(LOADED.format(typed=["plan", *typed, *OFFERED], unwanted=unwanted))
    assert written.splitlines()[-1] == "[]"


MEAN = """
import sys
from dpfda.front import main
sys.argv = ["dpfda", "mean", "t.csv", "--epsilon", "1", "--bounds", "0", "9", "--out", "m.json"]
try:
    main()
finally:
    print(sorted({"sklearn", "pyarrow", "pandas"} & {*sys.modules}))
"""


def test_the_command_publishes_a_mean_of_a_small_file_without_what_only_others_need(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("0,1,2\n" + "1,2,3\n4,5,6\n" * 20)
    assert run(MEAN).splitlines()[-1] == "[]"
    assert (tmp_path / "m.json").exists()


COUNTED = """
import sys
from dpfda.front import main
sys.argv = ["dpfda", {typed}]
try:
    main()
finally:
    print(sum(name.startswith("dpfda.") for name in sys.modules), *sorted(
        {{each.split(".")[1] for each in sys.modules if each.startswith("dpfda.")}}))
"""


@pytest.mark.parametrize(
    ("typed", "most", "rooms"),
    [
        ("'--version'", 16, "command front numerics spine"),
        (
            f"'show', {str(GOLDEN / 'mean_pure.json')!r}",
            118,
            "bases bounds command estimates front noise numerics privacy releases spine views",
        ),
    ],
)
def test_a_verb_loads_few_modules_and_no_room_that_it_does_not_need(typed, most, rooms) -> None:
    number, *found = run(COUNTED.format(typed=typed)).splitlines()[-1].split()
    assert int(number) <= most
    assert found == rooms.split()


@pytest.mark.parametrize("name", ["dpfda", "dpfda.bases", "dpfda.bounds", "dpfda.estimates"])
def test_every_name_of_a_package_is_loaded_when_it_is_asked_for(name: str) -> None:
    package = importlib.import_module(name)
    for each in package.__all__:
        assert getattr(package, each) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(package, "nothing")  # noqa: B009
