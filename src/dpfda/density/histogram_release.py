"""A released histogram: noisy counts of cells, and the smooth function made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import scipy

from dpfda.bases.cells import CellGrid, Domain, cosines, synthesise
from dpfda.bases.grids import frozen, product_points
from dpfda.density.cell_errors import (
    FEW,
    TABLE,
    errors_at,
    is_fine,
    noise_errors,
    running_width,
    unit_box,
)
from dpfda.density.many_cells import cosine_sums, edge_values
from dpfda.estimates.histospline import (
    ADAPTIVE,
    Smoother,
    check_smoothing,
    nearest_probabilities,
    smoother_for,
)
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import number
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import probability, wholes
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.words import number as number_words
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL, Valued
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.promise import AddedNoise, certified, sum_costs
from dpfda.releases.published import as_given
from dpfda.releases.shares import NoisyShares, domain_words, used_units
from dpfda.releases.words import density_label
from dpfda.views import View
from dpfda.views.shapes import BAND_POINTS, FINE, check_drawn

# What holds every unit in bounds.
BOUND = "one cell a unit"


@dataclass(frozen=True, eq=False)
class ReleasedHistogram(Valued):
    """Counts of the cells of a box, published with noise, and a smooth density made of them.

    Call it for the smooth function: a linear estimate that may be negative somewhere.
    `dpfda.ReleasedDensity` makes a proper density of it.

    Parameters
    ----------
    cells : CellGrid
        Public cells.
    noisy_counts : tuple of int
        The mechanism's output: counts plus noise, the last axis running fastest; then of atoms, if the
        cells have any. The smooth function is of the units that are at none.
    exponent : int
        The integers are in units of 2^-exponent of a count.
    public_size : int or None
        Number of privacy units where it is public; None where the sum of the noisy counts stands for it.
    smoothing : "adaptive", "monotone" or float
        How the shares are smoothed; see `dpfda.estimates.histospline`. Post-processing:
        `smoothed` changes it.
    noise : NoiseLaw
        Law of the noise on the counts, in grid units: independent, of one scale.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels of the axes.
    """

    cells: CellGrid = field(metadata=file.itself(CellGrid.from_json).kept)
    noisy_counts: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    exponent: int = field(metadata=file.EXPONENT.kept)
    public_size: int | None = field(metadata=file.PUBLIC_SIZE.kept)
    smoothing: object = field(
        metadata=file.entry(lambda entry: entry if entry in ADAPTIVE else number(entry)).kept
    )
    noise: NoiseLaw = field(metadata=file.one_scale("noisy_counts").kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-histogram"
    _CALLED: ClassVar[str] = "released histogram"
    _DRAWN: ClassVar[tuple[str, ...]] = ("domain", "domain_2")
    _axis_units: ClassVar[str] = "units of the data"
    _subject = "histogram"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.noisy_counts) == self.noise.components == self.cells.places:
            raise ParameterError("noisy_counts", f"be {self.cells.places}", len(self.noisy_counts))

    @property
    def dimensions(self) -> int:
        """Number d of variables."""
        return self.cells.dimensions

    @property
    def domain_range(self) -> Domain:
        """Ends of the box along each axis."""
        return self.cells.domain_range

    @cached_property
    def counts(self) -> Floats:
        """Noisy counts, in the shape of the cells."""
        return frozen(self._shares.counts[: self.cells.size].reshape(self.cells.shape))

    @cached_property
    def _shares(self) -> NoisyShares:
        """Noisy counts of all cells and atoms."""
        return NoisyShares(self.noisy_counts, self.noise, self.public_size, self.exponent)

    @property
    def total(self) -> float:
        """The public number of units, or the noisy one, at least 1."""
        return self._shares.size

    @property
    def noisy_atoms(self) -> Floats:
        """Noisy shares (k,) of the units that are at the atoms."""
        return np.asarray(self._shares.counts[self.cells.size :] / self.total)

    @cached_property
    def atom_shares(self) -> Floats:
        """The same, none negative and in all at most one."""
        shares = np.maximum(self.noisy_atoms, 0.0)
        return frozen(shares / max(1.0, float(shares.sum())))

    @property
    def size(self) -> float:
        """What the counts are divided by: the number of units that are at no atom, at least 1."""
        return max(1.0, self.total * (1 - float(self.atom_shares.sum())))

    @property
    def share_step(self) -> float:
        """One unit of the noise, in shares of the units."""
        return math.ldexp(1.0, -self.exponent) / self.size

    @property
    def share_variance(self) -> float:
        """Variance of the privacy noise in a share of a cell."""
        return float(self.noise.variances()[0]) * 4.0**-self.exponent / self.size**2

    def noise_reach(self, beyond: float) -> float:
        """Size that the noise in the share of one place exceeds with this probability."""
        beyond = probability(beyond, "beyond")
        law, deviation = self.noise.law, math.sqrt(self.share_variance)
        if law.endswith("gaussian"):
            return float(scipy.special.ndtri(1 - beyond / 2)) * deviation
        if law == "k-norm":
            return -math.log(beyond) / math.sqrt(2) * deviation
        # More shares than are honest have no Laplace law.
        drawn = np.abs(noise_errors(self.noise, np.eye(1)))
        far = float(np.quantile(drawn, 1 - beyond, method="higher"))
        return far * deviation / math.sqrt(float(self.noise.variances()[0]))

    @property
    def heights(self) -> Floats:
        """Noisy shares over volumes: the histogram itself, per unit of volume, not smoothed."""
        return np.asarray(self.counts / self.size / (self.cells.shares * self.cells.volume))

    @cached_property
    def smoother(self) -> Smoother:
        """The linear map from shares to coefficients. Adaptive: a function of the noisy counts."""
        shares = self.counts / self.size
        return smoother_for(self.smoothing, self.cells, shares, self.share_variance, self.size)

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients of the smooth function in cosines on the unit box, in the shape of the modes."""
        return frozen(self.smoother.coefficients(self.counts / self.size))

    @cached_property
    def _distribution(self) -> scipy.interpolate.CubicHermiteSpline:
        """Monotone distribution function through the shares of cells in the adaptive estimate.

        Its slopes at the edges, values of the density, are those of the adaptive estimate, brought
        between the heights of the two cells and to at most twice the lower one: three times would do for
        each cubic to be monotone (Fritsch & Carlson 1980), but let the density dip inside a cell.
        """
        edges = self.cells.edges[0]
        shares = nearest_probabilities(self.smoother.cell_shares(self.coefficients))
        heights = shares / np.diff(edges)
        if is_fine(self.cells):
            slopes = edge_values(self.coefficients) / self.cells.volume
        else:
            slopes = self._waves(unit_box(self.cells, edges[:, None])) / self.cells.volume
        lower, upper = np.minimum(heights[1:], heights[:-1]), np.maximum(heights[1:], heights[:-1])
        inner = np.minimum(np.clip(slopes[1:-1], lower, upper), 2 * lower)
        ends = np.clip(slopes[[0, -1]], 0.0, 2 * heights[[0, -1]])
        below = np.concatenate([[0.0], np.cumsum(shares)])
        below[-1] = 1.0
        return scipy.interpolate.CubicHermiteSpline(
            edges, below, np.concatenate([ends[:1], inner, ends[1:]])
        )

    def smoothed(self, smoothing: object) -> ReleasedHistogram:
        """The same noisy counts, smoothed otherwise. Costs no privacy."""
        return replace(self, smoothing=check_smoothing(smoothing, self.cells))

    def _values(self, at: Floats) -> Floats:
        """Values of the smooth function, per unit of volume."""
        if self.smoothing == "monotone":
            return np.asarray(np.maximum(self._distribution.derivative()(at[:, 0]), 0.0))
        position = unit_box(self.cells, at)
        rows = max(1, TABLE // self.coefficients.size)
        parts = [self._waves(position[i : i + rows]) for i in range(0, len(position), rows)]
        return np.concatenate(parts) / self.cells.volume if parts else np.zeros(0)

    def _waves(self, position: Floats) -> Floats:
        if self.coefficients.ndim == 1 and is_fine(self.cells):
            return cosine_sums(self.coefficients, position[:, 0])
        first, *others = self.coefficients.shape
        values = np.tensordot(cosines(first, position[:, 0]), self.coefficients, axes=(1, 0))
        for axis, count in enumerate(others, 1):
            values = np.einsum("qi...,qi->q...", values, cosines(count, position[:, axis]))
        return np.asarray(values)

    def on_grid(self, shape: Sequence[int] | None = None) -> Floats:
        """Values at the midpoints of a regular grid, by fast transforms; "monotone": averages there.

        Parameters
        ----------
        shape : sequence of d int, optional
            By default that of the cells.
        """
        wanted = self.cells.shape if shape is None else wholes(shape, "shape", self.dimensions)
        if self.smoothing == "monotone":
            ends = np.linspace(*self.domain_range[0], wanted[0] + 1)
            return np.asarray(np.diff(self._distribution(ends)) / np.diff(ends))
        return np.asarray(synthesise(self.coefficients, wanted) / self.cells.volume)

    def integral(self) -> float:
        """Integral over the box: one, as is known beforehand."""
        return float(self.coefficients.flat[0])

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band for the smooth function that the counts without noise would have given.

        Notes
        -----
        The exact one differs under "monotone" only: it is for the average over the cell that a point
        lies in; else it is widened where the function leaves it.

        The band is about the privacy noise alone: it contains the same linear smoothing of the counts
        without noise, over the same divisor. It says nothing of sampling nor of the bias of smoothing.
        With a bandwidth the level is that of the known law of the noise. Under "adaptive" the weights
        follow the noisy counts and are taken as they are, which makes the level approximate: at 0.9 the
        measured coverage was 0.87 to 0.93 (four densities, 500 and 5000 units, epsilon 0.1 and 1).
        Under "monotone" the level is as there.
        """
        where = as_given(at)
        if self.smoothing == "monotone":
            cell = self.cells.index(at)
            shares = (self.smoother.cell_shares(self.coefficients) / self.cells.shares)[cell]
            errors = self._errors(at, averaged=True)
            heights = shares / self.cells.volume
            band = band_from_errors(heights, errors, asked.level, asked.simultaneous, where)
            return band if asked.exact else settled(band, self(at))
        return band_from_errors(self(at), self._errors(at), asked.level, asked.simultaneous, where)

    def _errors(self, at: Floats, averaged: bool = False) -> Floats:
        """Sizes (draws, q) of simulated errors at points, or of averages over their cells."""
        errors = errors_at(self.smoother, self.noise, at, averaged)
        return np.abs(errors) * (self.share_step / self.cells.volume)

    def cdf_band(self, level: float = 0.95) -> Band:
        """Band for the distribution function of the data at the edges of the cells, on an interval.

        It contains, at all edges at once and with the probability `level`, the shares of the units below
        each edge (over the same divisor). No smoothing is involved, so this holds whatever the density.

        Raises
        ------
        ParameterError
            In more than one dimension.
        """
        level = check_level(level)
        if self.dimensions > 1:
            raise ParameterError(
                "cdf_band", "be asked of a density on an interval", self.cells.describe()
            )
        edges, step = self.cells.edges[0][1:], self.share_step * self.size / self.total
        # All places from the left to the right, an atom before the cell that it lies in.
        before = np.searchsorted(edges[:-1], self.cells.atoms, side="right") - 0.5
        order = np.argsort(np.append(np.arange(self.cells.size), before), kind="stable")
        ends = np.flatnonzero(order < self.cells.size)
        shares = np.cumsum(self._shares.counts[order] / self.total)[ends]
        if self.cells.size > FEW:
            width = running_width(self.noise, level)[ends] * step
            return Band(edges, shares - width, shares + width, level, True)
        errors = np.abs(noise_errors(self.noise, np.tri(order.size)[ends] * step))
        return band_from_errors(shares, errors, level, True, edges)

    @classmethod
    def _charged(cls, written: Mapping[str, object], held: file.Held) -> Certificate:
        noise = held["noise"]
        tuning = {"name": "histogram", "cells": list(held["cells"].shape), "noise": noise_words(noise)}
        described = {"description": BOUND}, tuning
        return certified(written, partial(sum_costs, noise, 1.0), lambda: described, [noise])

    def _stated_bound(self) -> dict[str, object]:
        return {"description": BOUND}

    def _added_noise(self) -> list[AddedNoise]:
        return self._shares._added_noise(self.neighbours)

    # Tables, pictures and words.

    def _default_points(self) -> Floats:
        """Middles of the cells; where these are many, the points of a band."""
        if self.cells.size > BAND_POINTS:
            return self._band_points()
        return product_points([(edges[1:] + edges[:-1]) / 2 for edges in self.cells.edges])

    def _band_points(self) -> Floats:
        # Fewer where there are many cells of a box: the response holds a number for each pair.
        fewer = self.dimensions > 1 or not is_fine(self.cells)
        points = max(64, min(BAND_POINTS, 4 * TABLE // self.cells.size)) if fewer else BAND_POINTS
        count = max(2, round(points ** (1 / self.dimensions)))
        return product_points([np.linspace(a, b, count) for a, b in self.domain_range])

    def view(self, level: float | None = LEVEL) -> View:
        if self.dimensions == 1:
            return self._curve([self._line("smooth function of the noisy counts", level)], baseline=0.0)
        check_drawn(self.dimensions, "Draw a slice of release.on_grid().")
        return self._image(self.on_grid([max(size, FINE) for size in self.cells.shape]), level)

    @property
    def _value_label(self) -> str:
        return density_label(self.about, self.dimensions)

    def _claims(self) -> tuple[Claim, ...]:
        holds = "what the counts without noise would have given"
        over = " on averages over cells" if self.smoothing == "monotone" else ""
        return (Claim("noise", holds, "per unit of the domain", over=over),)

    def _stated(self) -> Stated:
        return Stated(
            f"Counts of {self.cells.describe()} over {self._spoken_domain}, and a smooth function "
            "made of them.",
            public=[domain_words(self)],
            noise=f"{self.cells.describe()}, {self.noise.describe()}",
            units=used_units(self),
            remarks=self.edges_words(),
        )

    def edges_words(self) -> list[str]:
        """How well shares below the edges of cells are known, on an interval."""
        if self.dimensions > 1 or self.is_lost:
            return []
        return [
            f"How many lie below a point is known better: with a probability of {LEVEL:.0%} the "
            f"share of {several(self.unit)} below every edge of a cell is known within "
            f"{number_words(self._farthest)}."
        ]

    @cached_property
    def _farthest(self) -> float:
        """Within how much all shares below edges of cells are known; zero of several variables."""
        if self.dimensions > 1:
            return 0.0
        below = self.cdf_band(LEVEL)
        return float(((below.upper - below.lower) / 2).max())

    @property
    def is_lost(self) -> bool:
        """Whether the noise hides all units of an interval: some share below a point may be any."""
        return self._farthest >= 0.5

    def _lines(self) -> dict[str, str]:
        by = self.smoothing
        words = f"{by} smoothing" if by in ADAPTIVE else f"smoothing of bandwidth {by:g}"
        mechanism = f"histogram: {noise_words(self.noise)}, {words}"
        return {"cells": self.cells.describe(), "mechanism": mechanism}


def noise_words(noise: NoiseLaw) -> str:
    """Say in words what noise is on the counts."""
    return noise.describe().replace("coefficient", "count")
