"""Releases of one sample's density, compared with its kernel estimate and with the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfda import PrivateDensity
from dpfda.testing import simulate_density
from experiments.additive import LaplaceRelease
from experiments.common import Floats, shown
from experiments.density_recipe import one_draw

EPSILON = 1.0
SHOWN = 10
ORDER = ("printed scale", "honest")

Row = dict[str, Any]
Name = tuple[str, str]


def library_draws(
    mechanism: Any, domain: Any, points: Floats, shape: tuple[int, ...], generator: np.random.Generator
) -> Callable[[], Floats]:
    """Draws of the library's release on a grid, from the simulated noise of `dpfda.testing`."""
    density = PrivateDensity(EPSILON, domain=domain, mechanism=mechanism)
    prepared = density.prepare(points)
    return lambda: simulate_density(prepared, generator).on_grid(shape).ravel()


def compared(
    label: str,
    plain: Floats,
    truth: Floats,
    weight: float,
    releases: dict[Name, LaplaceRelease],
    library: dict[Name, Callable[[], Floats]],
    draws: int,
    generator: np.random.Generator,
) -> tuple[list[Row], dict[Name, list[Floats]]]:
    """Mean squared L2 distances of draws, and some draws of each mechanism.

    Parameters
    ----------
    label : str
        For the progress.
    plain, truth : array (m,)
        The kernel estimate without noise, and the density that was sampled, on the grid.
    weight : float
        Volume of a cell of the grid.
    releases : mapping
        (column, mechanism) to a release with a closed form.
    library : mapping
        (column, mechanism) to draws without one.
    draws : int
    generator : numpy Generator
    """
    rows = [row(("without noise", "kernel estimate"), [plain], plain, truth, weight)]
    made: dict[Name, Callable[[], Floats]] = {
        name: lambda release=release: one_draw(release, EPSILON, generator)
        for name, release in releases.items()
    }
    kept = {}
    for name, one in shown((made | library).items(), label):
        found = [one() for _ in range(draws)]
        kept[name] = found[:SHOWN]
        closed = releases[name].expected(plain, EPSILON) if name in releases else ""
        rows.append(row(name, found, plain, truth, weight) | {"closed_form": closed})
    return rows, kept


def row(name: Name, found: list[Floats], plain: Floats, truth: Floats, weight: float) -> Row:
    """Mean squared distances to the kernel estimate and to the truth."""
    to_plain = np.array([np.sum((each - plain) ** 2) for each in found]) * weight
    to_truth = np.array([np.sum((each - truth) ** 2) for each in found]) * weight
    return {
        "column": name[0],
        "mechanism": name[1],
        "to_kernel_estimate": float(to_plain.mean()),
        "standard_error": float(to_plain.std()) / math.sqrt(len(found)),
        "closed_form": "",
        "to_truth": float(to_truth.mean()),
    }


def titled(name: Name) -> str:
    """Heading of a panel."""
    return f"{name[1]} ({name[0]})"
