"""Every entry of a release's file changed, one at a time, and what a file cannot prove by itself."""

import copy
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dpfda.privacy.certificates import guarantee_from_json
from dpfda.privacy.composition import loss_of
from sample_releases import made

Place = tuple[Any, ...]
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
UNPROVED = {"components", "directions", "density by a kernel"}
# Names of entries that such a file, or another, cannot prove: changes of them may be believed.
BELIEVED = {
    # A public radius of deviations, of which components hold neither noise nor integers.
    "components": {"radius", "neighbours"},
    "directions": {"radius", "neighbours", "costs"},
    "density by a kernel": {"neighbours"},
    # Coupled noise, and what a caller has stated, are as large for either relation.
    "covariance": {"neighbours"},
    "kernel regression on two inputs": {"neighbours"},
    "lattice": {"neighbours"},
    # Drawn without noise on numbers; where records were left out, either relation has no public number.
    "median of a private number": {"neighbours"},
}
WORDS = ("free text", "l2", "add-remove", "replace-one", "pure")
DROPPED = object()


@cache
def text_of(name: str) -> str:
    """The file of a release of a kind, without the words and the table that loading leaves alone."""
    written: Tree = made(name).to_json()
    return json.dumps(written)


# One of each format, and of each law and bound of a mean.
NAMES = [
    *("approximate", "iclp", "add-remove", "add-remove, public size", "curved bounds", "cosine"),
    *("cosine, add-remove", "student-t", "bernstein"),
    *("default mean", "mean in a ball", "pooled mean", "mean and variance", "two looks", "image"),
    *("density of a private number", "density by a kernel", "conditional density", "quantiles"),
    *("median of a private number", "histogram", "covariance", "covariance of a private number"),
    *("components", "directions", "several values", "comparison", "difference", "test of equality"),
    *(
        "answers",
        "survival",
        "score curves",
        "curve at covariates",
        "regression",
        "kernel regression",
        "margins",
        "kernel regression on two inputs",
        "descent",
        "power looked for",
        "lattice",
    ),
]


def entries(tree: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
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
        yield from (value * 10, value // 1000 if type(value) is int else value / 1000, 0)
        yield from (-value or -1, "NaN", 10**30, value + 1)


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def put(tree: Tree, path: Place, value: Any) -> Tree:
    """The tree with one entry changed; all that does not hold it is shared."""
    changed = copy.copy(tree)
    inner: Any = changed
    for key in path[:-1]:
        inner[key] = copy.copy(inner[key])
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


def certificates(tree: Any, path: Place = ()) -> Iterator[tuple[Place, Tree]]:
    """Where a file, or a part of it, says what it promises."""
    if isinstance(tree, dict):
        if "costs" in tree:
            yield path, tree
        for key, value in tree.items():
            yield from certificates(value, (*path, key))
    elif isinstance(tree, list):
        for key, value in enumerate(tree[:3]):
            yield from certificates(value, (*path, key))


def belittled(part: Tree, which: Iterable[str]) -> Tree:
    """A certificate of which some parts say a thousandth, each of them in all of its numbers."""
    changed, factor = copy.deepcopy(part), Fraction(1, 1000)
    for name in which:
        if name != "costs":
            changed[name] = scaled(changed[name], factor)
            continue
        for cost in changed["costs"]:
            cost["guarantee"] = scaled(cost["guarantee"], factor)
            # What is known of any mechanism with that guarantee.
            cost["loss"] = loss_of(guarantee_from_json(cost["guarantee"])).to_json()
    return changed


def believed(name: str, path: Place) -> bool:
    """Whether a file of this kind cannot prove an entry."""
    return bool(set(map(str, path)) & BELIEVED.get(name, set()))


def written_to(path: Path, tree: Tree) -> Path:
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path
