"""The faults that are put in deliberately (`proofs/mutations.py`) fit the program as it is.

Not in `test_proofs.py`, which is run on copies with a fault: there it would notice every one.
"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _faults():
    file = ROOT / "proofs" / "mutations.py"
    spec = importlib.util.spec_from_file_location("mutations", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTATIONS


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
