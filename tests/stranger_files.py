"""One stored release of every kind, and what a stranger may have made of its file."""

import copy
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelRegressor,
    PrivateMean,
    load,
    release_function,
)
from dpfda.bases import BoxBasis, KroneckerBasis
from dpfda.covariance.strategies import Center
from dpfda.density.kernel import DensityKernel
from sample_releases import CURVES, GOLDEN, GRID, RELEASES
from sample_releases import KINDS as MORE

POINTS = np.linspace(0.1, 0.9, 60)
PAIRS = np.stack([POINTS, POINTS], axis=1)
WAVES = 0.2 * np.sin(3 * np.linspace(0, 1, 12)) * np.linspace(-1, 1, 80)[:, None]
IMAGES = np.linspace(0, 1, 40 * 64).reshape(40, 8, 8)
BOX = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)], components=9)
PRODUCT = KroneckerBasis.on_grid(Matern(0.3, nu=1.5), (np.linspace(0, 1, 8),) * 2, components=7)


KINDS: dict[str, Callable[[], Any]] = {
    **{name: RELEASES[name] for name in ("pure", "process", "add-remove", "cosine", "student-t")},
    **{name: RELEASES[name] for name in ("composed kernel", "standardized", "bernstein")},
    "lattice": lambda: release_function(lambda at: at[:, 0], 0.1, 1.0, 3, [(0, 1)]),
    "box": lambda: PrivateMean(1.0, bounds=(0, 1), basis=BOX).fit(IMAGES).release_,
    "product": lambda: PrivateMean(1.0, bounds=(0, 1), basis=PRODUCT).fit(IMAGES).release_,
    "density": lambda: PrivateDensity(1, domain=(0, 1)).fit(POINTS).release_,
    "ages": lambda: PrivateDensity(1).fit_counts([5, 30, 100], [0, 1, 15, 100]).release_,
    "square": lambda: PrivateDensity(1, domain=[(0, 1), (0, 2)], cells=4).fit(PAIRS).release_,
    "smooth density": lambda: (
        PrivateDensity(1, domain=[(0, 1), (0, 2)], mechanism=DensityKernel(components=8))
        .fit(PAIRS)
        .release_
    ),
    "two stages": lambda: load(GOLDEN / "two_stages_declared_spread.json"),
    "two stages, private spread": lambda: load(GOLDEN / "two_stages_private_spread.json"),
    "two looks": MORE["two looks"],
    "covariance": lambda: PrivateCovariance(5.0, center=Center(0.0, radius=0.4)).fit(WAVES).release_,
    "components": lambda: (
        PrivateFPCA(5.0, n_components=2, center=Center("private", radius=0.4), bounds=(-1, 1))
        .fit(WAVES)
        .release_
    ),
    "comparison": lambda: (
        PrivateComparison(1.0, bounds=(-3, 3), domain=Domain(GRID))
        .fit(CURVES, np.where(np.arange(len(CURVES)) % 2, "a", "b"))
        .release_
    ),
    "predictor": lambda: (
        PrivateKernelRegressor(5.0, bounds=(-1, 1), target_bounds=(-1, 2), loss="huber")
        .fit(POINTS[:, None], POINTS)
        .release_
    ),
}


@cache
def written(kind: str) -> str:
    """The file of a small release of a kind."""
    with TemporaryDirectory() as folder:
        return Path(KINDS[kind]().save(Path(folder) / "release.json")).read_text(encoding="utf-8")


class Raw(str):
    """Text that goes into the file as it is, where JSON's own writer would not write it."""

    __slots__ = ()


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**9,
    10**18,
    2**64,
    10**4000,
    -(10**40),
    1.5,
    -0.0,
    1e308,
    5e-324,
    "",
    "NaN",
    "1e999999999",
    "1/0",
    "9" * 100_000,
    "-1e-999999999",
    "\x1b[2J",
    "kernel",
    [],
    {},
    [10**9, 10**9],
    [[[[[]]]]],
    {"kind": "kernel"},
    Raw("1e999999999"),
    Raw("-1e999999999"),
    Raw("NaN"),
    Raw("-Infinity"),
    Raw("9" * 100_000),
    Raw("[" * 100_000 + "]" * 100_000),
    Raw('{"inner":' * 900 + "1" + "}" * 900),
)


def mutated(text: str, chance: random.Random) -> str:
    """The text of a file after one to three changes of its values, keys, types, nesting or bytes."""
    if chance.random() < 0.1:
        return _cut(text, chance)
    tree = json.loads(text)
    raw: dict[str, str] = {}
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _change(tree, chance, raw)
    changed = json.dumps(tree)
    for mark, content in raw.items():
        changed = changed.replace(f'"{mark}"', content)
    return changed


def _cut(text: str, chance: random.Random) -> str:
    start, stop = sorted(chance.sample(range(len(text)), 2))
    return chance.choice((text[:start], text[:start] + text[stop:], text[:stop] + text[start:]))


def _change(tree: Any, chance: random.Random, raw: dict[str, str]) -> None:
    places = _places(tree)
    if not places:
        return
    parent, key = chance.choice(places)
    how = chance.randrange(8)
    old = parent[key]
    if how == 0:
        del parent[key]
    elif how == 1:
        parent[key] = copy.deepcopy(chance.choice(places)[0])
    elif how == 2 and isinstance(old, list) and old:
        parent[key] = chance.choice((old[:-1], old * 2, [*old, old[0]], [old]))
    elif how == 3 and type(old) in (int, float) and abs(old) < 10**300:
        parent[key] = chance.choice((-old, old + 1, old * 10, old * 10**30, 10**9 * int(old), str(old)))
    elif how == 4 and isinstance(old, str):
        parent[key] = chance.choice((old + "A", old[: len(old) // 2], old.upper(), [old]))
    elif how == 5 and isinstance(parent, dict):
        parent[str(key) + "_"] = parent.pop(key)
    else:
        new = chance.choice(ODD)
        if isinstance(new, Raw):
            mark = f"raw {len(raw)}"
            raw[mark] = str(new)
            new = mark
        parent[key] = copy.deepcopy(new)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every value's container and key, but of long lists a few alone."""
    found: list[tuple[Any, Any]] = []
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    for key in keys if isinstance(tree, dict) else list(keys)[:4]:
        found.append((tree, key))
        if isinstance(tree[key], dict | list):
            found += _places(tree[key])
    return found
