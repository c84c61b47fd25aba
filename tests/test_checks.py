"""What runs all checks hides no failure, and no test that needs a browser is left out there."""

import ast
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STEPS = """
set -euo pipefail
. .ci/beside
good() { sleep 0.2; echo fine; }
bad() { echo wrong; false; echo "not reached"; }
"""


@pytest.mark.parametrize("steps", ["good", "bad", "good bad", "bad good"])
def test_steps_beside_each_other_fail_where_one_fails(steps):
    script = f"{STEPS}\nbeside {steps}\necho went on"
    done = subprocess.run(  # noqa: S603 - our own words
        ["bash", "-c", script],  # noqa: S607
        cwd=HERE.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == int("bad" in steps)
    assert ("went on" in done.stdout) == ("bad" not in steps)
    assert done.stdout.count("wrong") == done.stdout.count("+ bad: FAILED") == steps.count("bad")
    assert done.stdout.count("+ good: passed\nfine") == steps.count("good")
    assert "not reached" not in done.stdout


def test_what_needs_a_browser_says_so_in_its_name():
    # The step with a browser selects tests by that word; test_site.py runs whole, with the pages.
    selecting = (HERE.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert "-k browser" in selecting
    for path in HERE.glob("test_*.py"):
        if path.name in ("test_site.py", "test_checks.py"):
            continue
        source = path.read_text(encoding="utf-8")
        for found in ast.walk(ast.parse(source)) if "chromium()" in source else ():
            if isinstance(found, ast.FunctionDef) and found.name.startswith("test_"):
                needs = "chromium()" in (ast.get_source_segment(source, found) or "")
                assert not needs or "browser" in f"{path.stem} {found.name}", found.name
                assert not needs or path.stem.removeprefix("test_") in selecting
