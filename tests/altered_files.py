"""Every entry of a release's file changed, one at a time, and what a file cannot prove by itself."""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from sample_releases import KINDS, RELEASES, made

Path_ = tuple[Any, ...]
Tree = dict[str, Any]

# What says what is promised, to whom, in what bound, and by what noise.
PROMISE = {
    "guarantee", "achieved_guarantee", "guarantee_of_last_stage", "guarantee_recomputed", "costs",
    "neighbours", "bound", "noise", "exponent", "divisor", "public_size", "scale", "laplace_scale",
    "sensitivity", "loss_range", "radius",
}  # fmt: skip
# Free text, and names that nothing else follows from.
FREE = {"about", "privacy_unit", "release_id", "stage", "mechanism", "words", "table"}
# Kinds whose files do not hold how far one unit moves what got noise, or not the noise itself.
UNPROVED = {
    "classification", "probabilities", "regression", "regression on two inputs", "components",
    "directions", "density by a kernel",
}  # fmt: skip
# Names of entries that such a file, or another, cannot prove: changes of them may be believed.
BELIEVED = {
    # A public radius of deviations, of which components hold neither noise nor integers.
    "components": {"radius", "neighbours"},
    "directions": {"radius", "neighbours", "costs"},
    "classification": {"neighbours", "costs"},
    "probabilities": {"neighbours", "costs"},
    "regression": {"neighbours", "costs"},
    "regression on two inputs": {"neighbours", "costs"},
    "density by a kernel": {"neighbours"},
    # Coupled noise, and what a caller has stated, are as large for either relation.
    "covariance": {"neighbours"},
    "lattice": {"neighbours"},
    "lattice in the plane": {"neighbours"},
}
WORDS = ("free text", "l2", "values", "box", "approximate", "add-remove", "replace-one", "pure")
DROPPED = object()


@cache
def text_of(name: str) -> str:
    """The file of a release of a kind, without the words and the table that loading leaves alone."""
    written: Tree = made(name).to_json()
    return json.dumps(written)


NAMES = [name for name in RELEASES | KINDS]


def entries(tree: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every entry with its path; of lists the first alone."""
    parts = tree.items() if isinstance(tree, dict) else list(enumerate(tree))[:1]
    for key, value in parts:
        yield (*path, key), value
        if isinstance(value, dict | list):
            yield from entries(value, (*path, key))


def changes(value: Any) -> Iterator[Any]:
    """What a stranger may put in the place of a value, as careless or as cunning as that may be."""
    yield DROPPED
    yield None
    if isinstance(value, dict):
        yield {}
    elif isinstance(value, list):
        yield from (value[:-1], [*value, *value[:1]], value[::-1])
        if value and all(type(each) in (int, float) for each in value):
            yield [each * 10 for each in value]
            yield [each // 1000 if type(each) is int else each / 1000 for each in value]
    elif isinstance(value, str):
        yield from (word for word in WORDS if word != value)
        if _is_number(value):
            number = Fraction(value)
            yield from (str(number * 10), str(number / 1000), "0", str(-number), "1/0", "NaN")
    elif type(value) in (int, float):
        yield from (value * 10, value // 1000 if type(value) is int else value / 1000, 0, -value)
        yield from ("NaN", 10**30, value + 1)


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def put(tree: Tree, path: Path_, value: Any) -> Tree:
    """The tree with one entry changed."""
    changed = copy.deepcopy(tree)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if value is DROPPED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


def scaled(guarantee: Tree, factor: Fraction) -> Tree:
    """A guarantee with all of its numbers changed alike: floats, exact ones and words."""
    exact = {term: str(Fraction(number) * factor) for term, number in guarantee["exact"].items()}
    floats = {term: float(Fraction(number)) for term, number in exact.items()}
    return {**guarantee, **floats, "exact": exact, "words": "less"}


def certificates(tree: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Tree]]:
    """Where a file, or a part of it, says what it promises."""
    if isinstance(tree, dict):
        if "costs" in tree:
            yield path, tree
        for key, value in tree.items():
            yield from certificates(value, (*path, key))
    elif isinstance(tree, list):
        for key, value in enumerate(tree[:3]):
            yield from certificates(value, (*path, key))


def belittled(part: Tree, which: set[str], factor: Fraction) -> Tree:
    """A certificate of which some parts say less, each of them in all of its numbers."""
    changed = copy.deepcopy(part)
    for name in which - {"costs"}:
        changed[name] = scaled(changed[name], factor)
    for cost in changed["costs"] if "costs" in which else ():
        cost["guarantee"] = scaled(cost["guarantee"], factor)
        if cost["loss"]["kind"] != "approximate":
            terms = {k: v for k, v in cost["loss"].items() if _is_number(str(v)) and k != "dimension"}
            cost["loss"] |= {term: str(Fraction(number) * factor) for term, number in terms.items()}
    return changed


def believed(name: str, path: Path_) -> bool:
    """Whether a file of this kind cannot prove an entry."""
    return bool(set(map(str, path)) & BELIEVED.get(name, set()))


def written_to(path: Path, tree: Tree) -> Path:
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path
