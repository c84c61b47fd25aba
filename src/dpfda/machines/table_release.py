"""A released regression or class probability in one or two inputs: a noisy table, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import CellGrid
from dpfda.bases.grids import frozen, product_points
from dpfda.bases.scales import Scale
from dpfda.estimates.histospline import nearest_shares
from dpfda.estimates.pooled import CORNERS, POINTS, SIDE_POINTS, PooledMean
from dpfda.estimates.widths import filled_cells
from dpfda.machines.predictor import FADED, Predictor
from dpfda.noise import NoiseLaw
from dpfda.noise.protocol import ScaledLaw
from dpfda.numerics import encoding
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.records.features import InputBox
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, settled
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.published import as_given
from dpfda.releases.shares import NoisyShares, OfShares, used_units

MOST_INPUTS = 2
# Equal cells of a first look at an input; of how many parts of a unit one counted where a file says
# nothing of it.
LOOKED, UNSAID = 128, 32
BOUND = "inputs and targets clipped to public bounds, one in all for each {unit}"
# A cell is known where it holds so many deviations of the noise on the number of its units.
SEEN = 2.0
# So few cells along a side that units fill say nothing of how a function bends between them.
FEW = 2.5
# Bands are wider by this power of the width of a cell over that of most.
OF_WIDE = 1 / 3
# Inputs at which the band is averaged.
EVENLY = 1000
COVERS = "sampling with the variance from the same noisy numbers"


@dataclass(frozen=True, eq=False)
class TablePredictor(Predictor, OfShares):
    """A regression function, or probabilities of classes, of one or two inputs.

    Call it at any points, as often as anyone likes: everything in it is public. Inputs outside their
    bounds are moved to the nearest bound, as those of the private examples were. For two classes it is
    the probability of the second, for more the probabilities (q, C) of all.

    Parameters
    ----------
    shares : NoisyShares
        The mechanism's output: the look at each input, if there was one; then for each cell of inputs
        and each corner of targets, or class.
    cells : CellGrid
        Of the inputs, in their units: equal ones where there was no look.
    bounds : (float, float)
        Public bounds of the target; 0 and 1 for classes.
    classes : tuple
        The public classes; none for a regression.
    alone : bool
        Whether every unit has one record.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, words for the axes.
    look : int, optional
        Of how many parts of a unit one counted in a first look at each input; None without one.

    Examples
    --------
    >>> from dpfda import PrivateKernelRegressor
    >>> x = np.linspace(0, 1, 400)
    >>> machine = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(-1, 1))
    >>> release = machine.fit(x[:, None], np.sin(6 * x)).release_
    >>> release([0.25, 0.75]).shape, release.band(0.95, points=[0.25]).lower.shape
    ((2,), (1,))
    """

    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    cells: CellGrid = field(metadata=file.itself(CellGrid.from_json).kept)
    bounds: tuple[float, float] = field(metadata=file.ENDS.kept)
    classes: tuple[object, ...] = field(metadata=file.SEQUENCE.kept)
    alone: bool = field(
        metadata=file.entry(lambda one: bool(encoding.integer(one, 0, 1)), int)
        .named("one_record_each")
        .kept
    )
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    look: int | None = field(default=None, metadata=file.whole_number(MOST_INPUTS + 1).or_absent.kept)

    _FORMAT: ClassVar[str] = "dpfda-table-predictor"
    _CALLED: ClassVar[str] = "released predictor"
    _has_exact: ClassVar[bool] = False
    # Those that carry the function, which is linear between.
    _fine: ClassVar[tuple[int, int]] = (POINTS, SIDE_POINTS)
    _border: ClassVar[float] = 0.5
    _whole: ClassVar[bool] = True
    _value: ClassVar[str] = "probability"
    _unseen: ClassVar[str] = "Most inputs were seen once or never."

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self._looked == LOOKED * self.dimensions or (self._looked == 0 and self.look is None)
        if not fits or not self.bounds[0] < self.bounds[1] or self.dimensions > MOST_INPUTS:
            raise ParameterError("shares", "be so many a cell, between bounds in order", "others")

    @property
    def _corners(self) -> int:
        return len(self.classes) or CORNERS.size

    @property
    def _looked(self) -> int:
        """How many numbers are of the look."""
        return len(self.shares.noisy) - self.cells.size * self._corners

    @property
    def _rest(self) -> float:
        """What part of a unit counts in the table."""
        return 1 - self._looked / (LOOKED * (self.look or UNSAID))

    @cached_property
    def _persons(self) -> Floats:
        """Noisy numbers (C, J) of units."""
        return frozen(self.shares.counts[self._looked :].reshape(-1, self._corners) / self._rest)

    @cached_property
    def _scales(self) -> tuple[Scale, ...]:
        """Of each input, scaled to [0, 1]: its cells are equal on it."""
        edges = ((axis - axis[0]) / (axis[-1] - axis[0]) for axis in self.cells.edges)
        return tuple(Scale.through(each, (0.0, 1.0)) for each in edges)

    @cached_property
    def inputs(self) -> InputBox:
        """Public bounds of the input columns, in their units."""
        return InputBox.of([*self.cells.domain_range], self.cells.dimensions)

    @property
    def task(self) -> str:
        """Regression, or classification."""
        return "classification" if self.classes else "regression"

    @property
    def has_probabilities(self) -> bool:
        """Whether it is of classes."""
        return bool(self.classes)

    @property
    def size(self) -> float:  # type: ignore[override]
        """Number of units: the public one, or the noisy one."""
        return float(self.shares.public_size or max(1.0, float(self._persons.sum())))

    @property
    def public_units(self) -> int | None:
        return self.shares.public_size if self.neighbours is Neighbours.REPLACE_ONE else None

    @property
    def center(self) -> float:
        """Middle of the bounds of the target."""
        return self.bounds[0] / 2 + self.bounds[1] / 2

    @property
    def half_width(self) -> float:
        """Half of their distance."""
        return self.bounds[1] / 2 - self.bounds[0] / 2

    @cached_property
    def _estimates(self) -> tuple[PooledMean, ...]:
        """Of the target; of the probability of the second class, or of each."""
        shares, size, seen = self.shares, self.size, self._persons / self.size
        unit = 2.0**-shares.exponent / (self._rest * size)
        noise = cast("ScaledLaw", shares.noise)
        law = cast("NoiseLaw", noise.equal(seen.size, noise.scales[0]))
        labels = range(len(self.classes)) if self._several else (1 if self.classes else None,)
        sides = self.cells.shape if self.dimensions > 1 else ()
        return tuple(PooledMean(seen, law, unit, size, sides, label, self.alone) for label in labels)

    def __call__(self, points: ArrayLike) -> Floats:
        """Values (q,) or (q, C) at points (q, d), or (q,) where d = 1, in the units of the inputs.

        Raises
        ------
        ParameterError
            If the points have another shape or are not finite.
        """
        at = self._points(points)
        found = self._carried([each.line for each in self._estimates], at)
        if self._several:
            return nearest_shares(found)
        return np.asarray(self.bounds[0] + 2 * self.half_width * found[:, 0])

    def _carried(self, values: Iterable[Floats], at: Floats) -> Floats:
        """Values (q, k) at points of functions (N,) on the grids of estimates, linear between."""
        from scipy.interpolate import RegularGridInterpolator

        grid, placed = self._estimates[0].grid, zip(self._scales, self.inputs.scaled(at).T, strict=True)
        scaled = np.stack([scale.positions(column) for scale, column in placed], axis=1)
        shape = (grid.size,) * self.dimensions
        table = np.stack([each.reshape(shape) for each in values], axis=-1)
        return np.asarray(RegularGridInterpolator((grid,) * self.dimensions, table)(scaled))

    def predict_proba(self, points: ArrayLike) -> Floats:
        """Probabilities (q, 2) or (q, C) of the classes.

        Raises
        ------
        ParameterError
            Of a regression, which has none.
        """
        if not self.classes:
            raise ParameterError("release", "be of classes for probabilities", self.task)
        values = self(points)
        return values if self._several else np.column_stack([1.0 - values, values])

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band that is meant to hold the function of the population: noise and sampling.

        Of more than two classes the ends are arrays (q, C); a simultaneous band is for all at once. How
        often it holds was measured: `docs/appendix/kernel_machines.md`.
        """
        each = asked.level ** (1 / len(self._estimates)) if asked.simultaneous else asked.level
        halves = [e.half_widths(each, asked.simultaneous) * self._wider for e in self._estimates]
        half = 2 * self.half_width * self._carried(halves, self._points(at))
        line = self(at)
        half = half if self._several else half[:, 0]
        where = as_given(self._points(at))
        band = Band(where, line - half, line + half, asked.level, asked.simultaneous, COVERS)
        return settled(band, line, (np.array(self.bounds[0]), np.array(self.bounds[1])))

    def _default_points(self) -> Floats:
        # Those that carry the function: they lie closer where cells do.
        even = np.linspace(0.0, 1.0, self._fine[self.dimensions - 1])
        axes = (
            low + (high - low) * scale.points(even)
            for (low, high), scale in zip(self.domain_range, self._scales, strict=True)
        )
        return product_points([*axes])

    @property
    def _wider(self) -> Floats:
        """How much wider bands are (N,) in cells that are wide, in which records may lie at one end."""
        found, grid = np.ones(1), self._estimates[0].grid
        for axis in self.cells.edges:
            widths = np.diff(axis)
            near = np.interp(grid * widths.size - 0.5, np.arange(widths.size), widths)
            found = np.outer(found, np.maximum(near / np.median(widths), 1.0) ** OF_WIDE).ravel()
        return found

    def _even(self, points: Floats) -> Integers:
        # As often as records have such inputs: where there are none the band says nothing of them.
        below = np.cumsum(self._estimates[0].seen_at)
        return np.asarray(np.searchsorted(below[:-1], (np.arange(EVENLY) + 0.5) / EVENLY * below[-1]))

    def _lost(self, at: Floats, level: float) -> Flags:
        """Also where fewer units were seen in a cell than noise alone could show."""
        masses = self._estimates[0].times.reshape(self.cells.size, -1).mean(axis=1) / self.cells.size
        noise = self.shares.deviation / self._rest * self._corners**0.5
        few = masses * self.size < SEEN * noise
        return np.asarray(super()._lost(at, level) | few[self.cells.index(self._points(at))])

    def _stated_bound(self) -> dict[str, object]:
        return {"description": BOUND.format(unit=self.unit)}

    # Words.

    def _claims(self) -> tuple[Claim, ...]:
        holds = f"the function of the population that these {several(self.unit)} were drawn from"
        told = {"legend": "the population's function", "among": "samples"}
        unit = self._value if self.classes else self._value_label
        return (Claim("population", holds, unit, **told),)

    def _band_facts(self) -> Iterable[BandFact]:
        return () if self._several else super()._band_facts()

    @property
    def _noise_words(self) -> str:
        return self.shares.noise.describe().replace("coefficient", "cell")

    def _stated(self) -> Stated:
        said = f"predicts {self.about.get('value', 'a number')}"
        if self.classes:
            which = f"of {self.classes[1]!r}" if len(self.classes) == 2 else "of each class"
            said = f"gives the probability {which}"
        once = (
            ""
            if self.unit == "record"
            else f" Each {self.unit} counts as one, spread over their records."
        )
        return Stated(
            f"A function of {self._said_inputs} that {said}.{once} Random noise was added to the number "
            f"of {several(self.unit)} in each cell of inputs and targets; what follows is made of these "
            "noisy numbers."
            + f" Where cells lie follows from a first look at the inputs, in which a part of each "
            f"{self.unit} counts." * bool(self._looked),
            uses="be evaluated at any point, drawn, copied and mailed",
            noised=False,
            public=self._public,
            noise=f"{self.cells.describe()}, each in {self._corners} parts, {self._noise_words}",
            units=used_units(self),
            first=self._crowded(),
            remarks=[
                "Noise and sampling are in the band, the variance of sampling being taken from the same "
                "noisy numbers. It is assumed that the function changes little within a cell. "
                f"Typical is what is so at the inputs of most {several(self.unit)}, as far as these "
                "numbers tell. "
                f"{FADED[self.task].format(where='at a point')} So they are where fewer "
                f"{several(self.unit)} were seen than noise alone could show: there the function is "
                "what the rest of it makes likely."
            ],
            numbers={
                "units": self.public_units,
                "task": self.task,
                "classes": list(self.classes),
                "cells": list(self.cells.shape),
            },
        )

    def _crowded(self) -> list[str]:
        """A remark where units fill few cells."""
        if filled_cells(self._estimates[0].forms) > FEW**self.dimensions:
            return []
        return [
            f"Nearly all {several(self.unit)} lie in a few cells of the inputs, within which the "
            "function is not seen: the band is wider for it. Bounds of inputs nearer to what is usual "
            "would show more of it; they must not be taken from these data."
        ]

    def _lines(self) -> dict[str, str]:
        return {"cells": self.cells.describe(), "noise": self._noise_words}
