"""Shared fixtures: real curves from a local folder that the environment names."""

import atexit
import csv
import gc
import os
import random
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

# Many small problems on several processes: BLAS threads of each would fight over the cores.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np  # noqa: E402 - after the limits, which are read when it is imported
import pytest  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis.strategies import none  # noqa: E402

from dpfda.publication import TriedPlan, tables  # noqa: E402
from dpfda.releases.kinds import kinds  # noqa: E402

# What is imported and collected lives to the end: looking through it for garbage is in vain.
gc.disable()

# How long an example takes says how busy the machine is; that it is right is what is tested.
# A run repeats: examples and noise are those of the last run, unless fresh ones are asked for. A test of
# chance that held then fails because of a change and not once in so many runs.
FRESH = bool(os.environ.get("DPFDA_FRESH_NOISE"))
settings.register_profile(
    "dpfda", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not FRESH
)
settings.load_profile("dpfda")

_system = os.urandom


@contextmanager
def _repeated(name: str) -> Iterator[None]:
    """The operating system's bytes replaced by those that a name stands for, in this process alone."""
    before, bytes_ = os.urandom, random.Random(name).randbytes  # noqa: S311
    os.urandom = before if FRESH else bytes_
    try:
        yield
    finally:
        os.urandom = before


def _in_child() -> None:
    """A forked child shares nothing with its parent that noise could be told by."""
    os.urandom = _system


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Every test draws noise of its own."""
    with _repeated(item.nodeid):
        return (yield)


@pytest.fixture
def unrepeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of the system itself: for programs whose processes take names from them."""
    monkeypatch.setattr(os, "urandom", _system)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """What tests share is drawn alike whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with _repeated(f"{request.node.nodeid} {fixturedef.argname} {getattr(request, 'param_index', 0)}"):
        return (yield)


def pytest_collection_finish() -> None:
    """From here on garbage is looked for among what tests make, and among all once more at the exit."""
    # Earlier hypothesis makes its generator in the first example, and looks for who holds it.
    given(none())(lambda nothing: None)()
    gc.freeze()
    gc.enable()
    # Figures are made of many small objects: looked through less often, they take a tenth less.
    gc.set_threshold(20_000)
    atexit.register(gc.unfreeze)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real data sets."""
    folder = os.environ.get("DPFDA_DATA_DIR")
    if folder is None:
        if os.environ.get("CI"):
            pytest.fail("DPFDA_DATA_DIR must name the folder with the data sets in CI.")
        pytest.skip("DPFDA_DATA_DIR does not name a folder with the data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def dti(data_dir: Path) -> dict[str, np.ndarray]:
    """Scans along a nerve tract: all 382, NaN where missing, with the person of each."""
    with (data_dir / "dti_cca.csv").open() as handle:
        rows = list(csv.reader(handle))[1:]
    curves = np.array([[np.nan if c == "NA" else float(c) for c in row[3:]] for row in rows])
    return {"curves": curves, "person": np.array([row[0] for row in rows])}


@pytest.fixture(scope="session")
def electricity(data_dir: Path) -> np.ndarray:
    """Demand of 508 Mondays at 48 half hours."""
    with (data_dir / "adelaide_monday_demand.csv").open() as handle:
        return np.array(list(csv.reader(handle))[1:], dtype=float)


@pytest.fixture(scope="session")
def drawing() -> list[ModuleType]:
    """Modules of releases that say how many draws their bands are made of."""
    kinds()
    modules = [module for name, module in sys.modules.items() if name.startswith("dpfda.")]
    return [module for module in modules if hasattr(module, "DRAWS")]


@pytest.fixture
def few_draws(drawing: list[ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands of fewer draws, for what does not depend on how exact they are."""
    for module in drawing:
        monkeypatch.setattr(module, "DRAWS", min(1000, module.DRAWS))


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that simulate fewer releases, for what does not depend on how exact they are."""
    kinds()
    for name, most in (("LAWS", 2), ("QUICK", 1)):
        monkeypatch.setattr(tables, name, most)
    for plan in (TriedPlan, *TriedPlan.__subclasses__()):
        for name, most in (("TRIALS", 4), ("QUICK", 2), ("BANDS", 1)):
            monkeypatch.setattr(plan, name, min(most, getattr(plan, name)))


@pytest.fixture
def desk_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A desk's folder, with people in a file; it is the working directory."""
    from desks import people, write

    monkeypatch.chdir(tmp_path)
    for name in ("DPFDA_LEDGER", "DPFDA_DATASET", "DPFDA_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    write(tmp_path / "people.csv", people(60))
    return tmp_path


@pytest.fixture
def visit() -> Iterator[Any]:
    """Makes visitors of desks, which are closed at the end."""
    from desks import Visitor

    made = []

    def visiting(folder: Path, enter: bool = True) -> Visitor:
        made.append(Visitor(folder, enter))
        return made[-1]

    yield visiting
    for each in made:
        each.close()
