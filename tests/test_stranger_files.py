"""Files from strangers: whatever is in one, a release or the library's own error answers, at once."""

import random
import resource
import time
from pathlib import Path

import pytest

from dpfda import load
from dpfda.errors import StorageError
from stranger_files import KINDS, mutated, written

# Of each kind; 450 of each, 10,000 in all, take half a minute.
MUTATIONS = 50
SECONDS = 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_file_is_read_or_refused_at_once(kind: str, tmp_path: Path) -> None:
    chance = random.Random(f"{kind} 17")  # noqa: S311
    path, text, refused = tmp_path / "release.json", written(kind), 0
    path.write_text(text)
    load(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(MUTATIONS):
        changed = mutated(text, chance)
        path.write_text(changed)
        start = time.perf_counter()
        try:
            release = load(path)
        except StorageError:
            refused += 1
        else:
            assert repr(release)
        assert time.perf_counter() - start < SECONDS, changed[:2000]
    # Most changes break something; half a gigabyte is what the largest grid takes.
    assert refused > MUTATIONS / 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20
