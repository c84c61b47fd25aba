"""The faults that are put in deliberately (`proofs/mutations.py`) fit the program as it is; so do ties.

Not in `test_proofs.py`, which is run on copies with a fault: there it would notice every one.
"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "proofs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _faults():
    return _script("mutations").MUTATIONS


@pytest.mark.parametrize("fault", _faults(), ids=lambda fault: fault[0])
def test_every_fault_has_one_place(fault):
    _, file, old, new, _ = fault
    assert (ROOT / file).read_text(encoding="utf-8").count(old) == 1
    assert old != new


@pytest.mark.parametrize(
    ("page", "said"),
    [("audit.md", r"(\d+) deliberate faults"), ("machine_checked.md", r"All (\d+) changes are noticed")],
)
def test_pages_say_how_many_faults_there_are(page, said):
    assert re.findall(said, (ROOT / "docs" / page).read_text(encoding="utf-8")) == [str(len(_faults()))]


def test_every_theorem_on_the_page_has_its_tie():
    script = _script("ties")
    tied = [name for names in script.TIES.values() for name in names.split()]
    assert sorted(tied) == sorted(_script("assumptions").named())
    tests = (ROOT / "tests" / "test_proofs.py").read_text(encoding="utf-8")
    written = set(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))
    assert set(script.TIES) - {script.CONSTANTS, script.ANY} <= written


def test_something_is_changed_in_every_file_of_proofs():
    changed = {check for *_, check in _faults()}
    assert {name.split(".")[0] for name in _script("assumptions").named()} <= changed
