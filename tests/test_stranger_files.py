"""Files from strangers: whatever is in one, a release or the library's own error answers, at once."""

import hashlib
import random
import resource
import time
from pathlib import Path

import numpy as np
import pytest

from dpfda import PrivateMean, load
from dpfda.errors import DpfdaError, StorageError
from dpfda.publication.session import Session, journal
from stranger_files import KINDS, mutated, written

pytestmark = pytest.mark.usefixtures("few_draws")

# Of each kind; 450 of each, 10,000 in all, take half a minute.
MUTATIONS = 40
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
        start = time.process_time()
        try:
            release = load(path)
        except StorageError:
            refused += 1
        else:
            assert repr(release)
        assert time.process_time() - start < SECONDS, changed[:2000]
    # Most changes break something; half a gigabyte is what the largest grid takes.
    assert refused > MUTATIONS / 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20


def test_a_mutated_session_is_resumed_or_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mean.session"
    curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 50)[:, None]
    bounds = {"bounds": (-1.5, 1.5), "domain_range": (0, 3)}
    session = PrivateMean(1.0, 1e-6, mechanism="gaussian", **bounds).open_session(curves, path)
    session.values([0.3, 1.5])
    session.suspend()
    texts = [line.rpartition(b"\t")[0].decode() for line in path.read_bytes().splitlines()]
    chance, refused = random.Random(23), 0  # noqa: S311
    for _ in range(MUTATIONS):
        changed = list(texts)
        place = chance.randrange(len(changed))
        changed[place] = mutated(changed[place], chance).replace("\n", " ")
        # A stranger makes new digests.
        digest, lines = journal.START, b""
        for text in changed:
            digest = hashlib.blake2b(digest + text.encode(), digest_size=16).hexdigest().encode()
            lines += text.encode() + b"\t" + digest + b"\n"
        path.write_bytes(lines)
        start = time.process_time()
        try:
            Session.resume(path).suspend()
        except DpfdaError:
            refused += 1
        assert time.process_time() - start < SECONDS
    assert refused > MUTATIONS / 4
