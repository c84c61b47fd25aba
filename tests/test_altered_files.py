"""A file that contradicts itself is refused; what can be derived is derived, not believed."""

import json
import random
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import altered_files as altered
from dpfda import PrivacyUnit, PrivateMean, load
from dpfda.errors import StorageError
from dpfda.releases.promise import laws_in

# Changed releases that are put into words and tables, of each kind.
TOLD = 2
# Of the changes of an entry so many are tried, drawn from a fixed seed; a run of all tries every one.
TRIED = [pytest.param(2, id="two"), pytest.param(None, id="all", marks=pytest.mark.thorough)]
pytestmark = pytest.mark.usefixtures("few_draws")


STATED = ("guarantee", "achieved_guarantee", "costs")


def promise(release: Any) -> list[object]:
    """What a release says that it promises, in what bound, and what each stage was charged."""
    certificate = release.certificate
    costs = [cost.guarantee for cost in certificate.costs]
    # What was achieved is a little less than what was charged, or not known to be.
    achieved = {term: f"{float(value):.3g}" for term, value in vars(certificate.achieved).items()}
    terms = [certificate.guarantee, achieved, certificate.neighbours]
    return [*terms, dict(certificate.bound), *costs]


def loaded(path: Path, tree: Any) -> Any:
    """The release, or None where the file is refused; anything but the one error is let through."""
    try:
        return load(altered.written_to(path, tree))
    except StorageError:
        return None


@pytest.mark.parametrize("tried", TRIED)
@pytest.mark.parametrize("name", altered.NAMES)
def test_a_changed_entry_is_refused_or_changes_no_promise(
    name: str, tried: int | None, tmp_path: Path
) -> None:
    chance = random.Random(name)  # noqa: S311
    path, tree = tmp_path / "release.json", json.loads(altered.text_of(name))
    before, refused, wrong = promise(load(altered.written_to(path, tree))), 0, set()
    for place, value in altered.entries(tree):
        words = set(map(str, place))
        if not words & altered.PROMISE or words & altered.FREE or altered.believed(name, place):
            continue
        every = list(altered.changes(value))
        for change in every if tried is None else chance.sample(every, tried):
            release = loaded(path, altered.put(tree, place, change))
            refused += release is None
            if release is not None and promise(release) != before:
                wrong.add((".".join(map(str, place)), str(change)[:40]))
    assert not wrong
    assert refused > (50 if tried is None else 15)


@pytest.mark.parametrize("name", altered.NAMES)
def test_no_certificate_can_be_made_to_promise_more(name: str, tmp_path: Path) -> None:
    path, tree = tmp_path / "release.json", json.loads(altered.text_of(name))
    before, accepted = promise(load(altered.written_to(path, tree))), set()
    for place, part in altered.certificates(tree):
        for size in (1, 2, 3):
            for which in combinations(STATED, size):
                changed = altered.belittled(part, which)
                whole = altered.put(tree, place, changed) if place else changed
                release = loaded(path, whole)
                if release is not None and promise(release) != before:
                    accepted.add(which)
    # Where no noise in the file tells what it gives, all parts that are changed alike are believed.
    assert accepted <= ({STATED} if name in altered.UNPROVED else set())


@pytest.mark.parametrize("name", altered.NAMES)
def test_all_certificates_of_a_file_changed_alike_are_held_to_its_noise(
    name: str, tmp_path: Path
) -> None:
    tree = json.loads(altered.text_of(name))
    for place, part in list(altered.certificates(tree))[::-1]:
        changed = altered.belittled(part, STATED) | {
            key: value for key, value in at(tree, place).items() if key not in STATED
        }
        tree = altered.put(tree, place, changed) if place else changed
    assert (loaded(tmp_path / "release.json", tree) is not None) == (name in altered.UNPROVED)


def test_noise_is_found_wherever_it_is_held_but_for_what_a_certificate_says() -> None:
    private = PrivateMean(
        1, bounds=(0, 1), mechanism="laplace", unit=PrivacyUnit(neighbours="add-remove")
    )
    mean = private.fit(np.full((40, 5), 0.5)).release_
    own = [mean.divisor.noise, mean.noise]
    assert laws_in([mean]) == laws_in([{"groups": (mean,)}]) == own
    assert laws_in(vars(mean).values(), parts=False) == own
    # Of a release that holds others, and no noise of its own.
    assert laws_in([{"groups": mean}], parts=False) == []
    claimed = replace(mean.certificate, mechanism={"name": "claimed", "law": mean.noise})
    assert laws_in([claimed]) == []
    assert laws_in([replace(mean, certificate=claimed)]) == own


def at(tree: Any, place: altered.Place) -> Any:
    for key in place:
        tree = tree[key]
    return tree


@pytest.mark.parametrize("name", altered.NAMES)
def test_words_that_follow_from_numbers_are_not_those_of_the_file(name: str, tmp_path: Path) -> None:
    path, tree = tmp_path / "release.json", json.loads(altered.text_of(name))
    said = load(altered.written_to(path, tree)).describe()
    for place, value in list(altered.entries(tree)):
        if place[-1] in ("words", "description", "composition") and isinstance(value, str):
            tree = altered.put(tree, place, "epsilon is nothing at all")
    release = load(altered.written_to(path, tree))
    assert release.describe() == said
    assert "nothing at all" not in json.dumps(release.to_json())


def test_a_bound_of_another_kind_is_refused_when_it_is_read(tmp_path: Path) -> None:
    tree = json.loads(altered.text_of("default mean"))
    tree["bound"]["kind"] = "l2"
    with pytest.raises(StorageError, match="damaged"):
        load(altered.written_to(tmp_path / "release.json", tree))


@pytest.mark.parametrize("name", ["histogram", "cosine, add-remove", "student-t", "approximate"])
def test_scales_far_too_small_are_refused_at_once(name: str, tmp_path: Path) -> None:
    tree = json.loads(altered.text_of(name))
    noise = tree["noise"]
    key = "scales" if "scales" in noise else "scale"
    noise[key] = 1 if key == "scale" else [1] * len(noise[key])
    start = time.process_time()
    assert loaded(tmp_path / "release.json", tree) is None
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("name", altered.NAMES)
def test_whatever_is_read_can_be_told(name: str, tmp_path: Path) -> None:
    path, tree = tmp_path / "release.json", json.loads(altered.text_of(name))
    chance, told = random.Random(f"{name} 5"), 0  # noqa: S311
    places = [each for each in altered.entries(tree) if each[0][-1] not in altered.PROMISE]
    tuning = [each for each in places if "mechanism" in each[0]]
    for place, value in tuning + chance.sample(places, len(places)):
        release = loaded(path, altered.put(tree, place, chance.choice(list(altered.changes(value)))))
        if release is None:
            continue
        told += 1
        assert release.facts
        assert release.describe()
        if told == TOLD + len(tuning):
            break
    assert told
