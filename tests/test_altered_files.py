"""A file whose entries contradict each other is refused; what can be derived is derived, not believed."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import altered_files as altered
from dpfda import load
from dpfda.errors import StorageError
from sample_releases import made

pytestmark = pytest.mark.usefixtures("few_draws")


def promise(release: Any) -> dict[str, Any]:
    """What a release says that it promises, in what bound, and what it cost."""
    certificate = release.certificate
    costs = [(cost.guarantee, cost.loss) for cost in certificate.costs]
    terms = certificate.guarantee, certificate.achieved, certificate.neighbours
    return {"terms": terms, "bound": dict(certificate.bound), "costs": costs}


def loaded(path: Path, tree: Any) -> Any:
    """The release, or None where the file is refused; anything but the one error is let through."""
    try:
        return load(altered.written_to(path, tree))
    except StorageError:
        return None


@pytest.mark.parametrize("name", altered.NAMES)
def test_a_changed_entry_is_refused_or_changes_no_promise(name: str, tmp_path: Path) -> None:
    path, tree = tmp_path / "release.json", json.loads(altered.text_of(name))
    before, refused, wrong = promise(load(altered.written_to(path, tree))), 0, []
    for place, value in altered.entries(tree):
        words = set(map(str, place))
        if not words & altered.PROMISE or words & altered.FREE or altered.believed(name, place):
            continue
        for change in altered.changes(value):
            release = loaded(path, altered.put(tree, place, change))
            refused += release is None
            if release is not None and promise(release) != before:
                wrong.append((".".join(map(str, place)), change))
    assert not wrong
    assert refused > 50
