"""Files from strangers: whatever is in one, a release or the library's own error answers, at once."""

import hashlib
import json
import random
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
PUBLISHED = "noisy|_sum|counts|exponent|divisor|coefficients|vectors"


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


def _numbers(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the first number of each entry is that was published, or says in what units it is."""
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree[:1])
    for key, part in parts:
        if isinstance(part, dict | list):
            yield from _numbers(part, (*path, key))
        elif type(part) is int and re.search(PUBLISHED, str([*path, key])):
            yield (*path, key)


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_no_release_can_have_is_refused_when_read(kind: str, tmp_path: Path) -> None:
    path, text = tmp_path / "release.json", written(kind)
    places = list(_numbers(json.loads(text)))
    assert places
    for *above, last in places:
        for far in (10**400, -(10**400), 10**70):
            tree = json.loads(text)
            part = tree
            for key in above:
                part = part[key]
            part[last] = far
            path.write_text(json.dumps(tree))
            with pytest.raises(StorageError):
                load(path)


def test_what_would_overflow_when_it_is_used_is_refused_when_read(tmp_path: Path) -> None:
    path, text = tmp_path / "release.json", written("pure")
    for name, value in {"exponent": -1020, "divisor": {"kind": "public", "value": 1e300}}.items():
        path.write_text(json.dumps({**json.loads(text), name: value}))
        with pytest.raises(StorageError):
            load(path)


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
