"""The bridge to Beam that the page on large data shows, run as it is written there."""

import re
from pathlib import Path

import numpy as np
import pytest

from dpfda import PrivateMean
from dpfda.testing import exact_totals

PAGE = Path(__file__).parent.parent / "docs" / "appendix" / "large_data.md"


@pytest.mark.filterwarnings("ignore")
def test_a_combine_function_of_beam_has_the_integers_of_one_fit(tmp_path, monkeypatch):
    pytest.importorskip("apache_beam")
    (shown,) = re.findall(
        r"```python\n(import json\n\nimport apache_beam.*?)```", PAGE.read_text(), flags=re.DOTALL
    )
    generator = np.random.default_rng(0)
    records, whose = generator.random((60, 8)), generator.integers(0, 20, 60)
    monkeypatch.chdir(tmp_path)
    given = {"X": records, "whose": whose}
    exec(shown, given)  # noqa: S102
    whole = PrivateMean(1.0, bounds=(0.0, 1.0), unit="person").prepare(records, whose)
    made = given["pool"].summation.finish(given["total"], whole.plan)
    assert exact_totals(made) == exact_totals(whole.total)
    assert given["release"].count == given["count"] == len(set(whose))
