"""Released quantile curves: a noisy table of times and values, and the smooth laws it speaks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points
from dpfda.bounds import ValueBounds
from dpfda.numerics.arrays import Flags, Floats
from dpfda.numerics.encoding import floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import real, reals
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate, said_by
from dpfda.privacy.words import number
from dpfda.reference.centiles.cells import Cells
from dpfda.reference.centiles.fit import Posterior, fitted
from dpfda.reference.centiles.laws import Laws
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, settled
from dpfda.releases.base import LEVEL, Column, Valued
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, OfShares, used_units
from dpfda.views import Curve, Line

# Levels that a table of counts with noise can speak of.
LOWEST, HIGHEST, MOST_LEVELS = 0.005, 0.995, 16
BAND_POINTS, DRAWS, MOST_CELLS, EXACT = 201, 4000, 1000, 1e-9
# Times over which a band is simultaneous, as shares of the domain.
OVER = np.linspace(0.0, 1.0, BAND_POINTS)
# Where laws leave more than this of the table, as a mean square in deviations, a warning comes first.
ROUGHER = 2.0
# How far bands reach, for all times and for one: in half-widths for smooth laws, in bends over a cell
# of time, in distances that the table cannot tell, and in cells of value. Chosen on half of the sets
# that the page on quantile curves names.
TOGETHER, ALONE = (2.0, 0.3, 4.0, 0.25), (1.5, 0.1, 1.5, 0.1)
# Sums over cells are clear at so many deviations of their noise. Where less is seen in three cells of
# time it is said, if visits spread evenly would be so many times as many.
CLEAR, SELDOM = 3.0, 4.0
COVERS = "sampling, however the values of one unit depend on one another"


def bound_words(bound: ValueBounds, unit: str) -> str:
    """What is bounded, in words."""
    return f"{bound.describe()}, one share in all for each {unit}"


def read_quantile(level: object, name: str) -> float:
    """A share of which a quantile curve can be stated.

    Raises
    ------
    ParameterError
        If it is none, or so near to zero or one that noise hides what lies beyond.
    """
    share = f"be a number from {LOWEST:g} to {HIGHEST:g} (shares, not per cent: .03, .5, .97)"
    return real(level, name, LOWEST, HIGHEST, share)


def half_widths(
    posterior: Posterior, at: Floats, times: int, quantile: float, level: float, simultaneous: bool
) -> Floats:
    """Half-widths (q,) of a band for a quantile at times, which are shares of the domain.

    times: Number of cells of time.
    """
    errors, rough, untold = posterior.errors(at, quantile)
    own, bend, share, value = TOGETHER if simultaneous else ALONE
    far = float(scipy.special.ndtri((1 + level) / 2))
    if simultaneous:
        wide = posterior.errors(OVER, quantile)[0]
        # Where the quantile is a bound it has no error but rounding.
        sizes = np.sqrt(np.sum(wide**2, axis=1, keepdims=True))
        scaled = wide / np.where(sizes > EXACT, sizes, np.inf)
        draws = np.random.Generator(np.random.Philox(key=0)).standard_normal((DRAWS, wide.shape[1]))
        far = float(np.quantile(np.abs(draws @ scaled.T).max(axis=1), level, method="higher"))
    stated = far * np.sqrt(np.sum(errors**2, axis=1) + rough)
    bent = np.interp(at, OVER, bends(posterior.at(OVER).quantiles(quantile), times))
    left = posterior.left
    half = own * stated + bend * bent + share * untold + value / left.rest.shape[1]
    return np.asarray(left.wider * half)


def bends(values: Floats, times: int) -> Floats:
    """Largest second difference (m,) of values over a cell of time, within a cell of each.

    values: array (m,). At equally spaced times.
    """
    step = max(1, values.size // max(times, 3))
    bent = np.abs(values[2 * step :] - 2 * values[step:-step] + values[: -2 * step])
    return np.pad(scipy.ndimage.maximum_filter1d(bent, 2 * step + 1, mode="nearest"), step, mode="edge")


# How often the band held.
SEEN = (
    ". On 19 sets of real curves, which had little part in setting its width, the band for 95% held the "
    "whole curve in 90 to 95 of 100 releases, of 300 to 10,000 units at epsilon 1"
)


@dataclass(frozen=True, eq=False)
class ReleasedQuantileCurves(Valued, OfShares):
    """Quantile curves, published with noise.

    ``release[0.9]`` is the same release, called for the curve below which nine of ten lie, with its
    band. Curves are smooth and never cross.

    Parameters
    ----------
    shares : NoisyShares
        The mechanism's output: for each cell of time, and of value in it.
    cells : Cells
        Public cells, grid and domain.
    lower, upper : array (m,)
        Public bounds on values on the grid; straight lines between.
    levels : tuple of float
        Shares of which tables and pictures show the curves.
    chosen : float
        Share of the curve that a call gives.
    certificate : Certificate
    about : mapping
        Labels, date and versions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateQuantileCurves
    >>> from dpfda.records import LongCurves
    >>> rng = np.random.default_rng(1)
    >>> ages = rng.uniform(2, 10, size=4000)
    >>> heights = 75 + 6 * ages + 4 * rng.normal(size=4000)
    >>> visits = LongCurves(np.arange(4000), ages, heights)
    >>> made = PrivateQuantileCurves(1.0, bounds=(60, 170), domain=(2, 10)).fit(visits)
    >>> bool(102 < made.release_[0.5](5.0) < 108), bool(0.5 < made.release_.z(5.0, 109.0) < 1.5)
    (True, True)
    """

    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    cells: Cells
    lower: Floats = field(metadata=file.FLOATS.kept)
    upper: Floats = field(metadata=file.FLOATS.kept)
    levels: tuple[float, ...] = field(
        metadata=file.entry(lambda written: floats(written).tolist(), list).kept
    )
    chosen: float = field(metadata=file.NUMBER.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-quantile-curves"
    _CALLED: ClassVar[str] = "release of quantile curves"
    _plural: ClassVar[bool] = True
    _has_exact: ClassVar[bool] = False
    _ENTRIES: ClassVar[file.Table] = {
        "cells.domain_range": file.ENDS.named("domain_range"),
        "cells.grid_points": file.FLOATS.named("grid_points"),
        "cells.times": file.whole_number(1, MOST_CELLS).named("times"),
        "cells.values": file.whole_number(2, MOST_CELLS).named("values"),
        "cells.visits": file.entry(lambda written: written is True).named("visits"),
    }
    _subject = "quantile curves"

    def __post_init__(self) -> None:
        super().__post_init__()
        same = self.cells.grid_points.shape == self.lower.shape == self.upper.shape
        if not same or not np.all(self.lower < self.upper):
            raise ParameterError("lower", "be below upper, one a grid point", "others")
        if len(self.shares.noisy) != self.cells.size:
            raise ParameterError("shares", "be one a cell", f"{len(self.shares.noisy)}")

    def __getitem__(self, level: float) -> ReleasedQuantileCurves:
        """The same release, called for the quantile curve of another share, from .005 to .995.

        Raises
        ------
        ParameterError
            If nothing can be said of it.
        """
        release = replace(self, chosen=read_quantile(level, "level"))
        # The laws are the same: they need not be found again.
        vars(release)["_posterior"] = self._posterior
        return release

    def _of_shares(self, shares: Sequence[float]) -> ReleasedQuantileCurves:
        # Called for the first; what else there is stays.
        wanted = [read_quantile(share, "--quantiles") for share in shares]
        return replace(self, levels=tuple(sorted({*wanted})))[wanted[0]]

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of time."""
        return self.cells.domain_range

    grid_points = said_by("cells.grid_points", "Points (m,) at which the bounds are stated.")

    @cached_property
    def _posterior(self) -> Posterior:
        shares, cells = self.shares, self.cells
        terms = cells.terms(shares.public_size is not None)
        table = shares.counts.reshape(cells.times, cells.values)
        return fitted(table, cells.nodes, terms, shares.size, shares.deviation)

    def _laws(self, at: Floats) -> Laws:
        return self._posterior.at(self.cells.position(at))

    def _ends(self, at: Floats) -> tuple[Floats, Floats]:
        lower, upper = (np.interp(at, self.grid_points, end) for end in (self.lower, self.upper))
        return lower, upper

    def _values(self, at: Floats) -> Floats:
        return self._curve_at(at, self.chosen)

    def _curve_at(self, at: Floats, level: float) -> Floats:
        lower, upper = self._ends(at)
        return np.asarray(lower + (upper - lower) * self._laws(at).quantiles(level))

    def level(self, at: ArrayLike, values: ArrayLike) -> float | Floats:
        """Share of the population below values at their times.

        Parameters
        ----------
        at : float or array (q,)
            In the domain.
        values : float or array (q,)
            In the units of the data, one a time, or one for all; NaN where one is missing.

        Returns
        -------
        float or array (q,)
            Between 0 and 1; values beyond the bounds count as on them.

        Raises
        ------
        ParameterError
            If a time is outside the domain, or there is not one value a time.
        """
        numbers = reals(values, "values")
        single = np.ndim(at) == 0 and numbers.ndim == 0
        times = check_points(at, self.domain_range)
        if numbers.ndim > 1 or (numbers.ndim == 1 and times.size not in (1, numbers.size)):
            raise ParameterError("values", "be one a time", f"shape {numbers.shape}")
        times, numbers = np.broadcast_arrays(times, np.atleast_1d(numbers))
        lower, upper = self._ends(times)
        scaled = (np.clip(numbers, lower, upper) - lower) / (upper - lower)
        seen = np.isfinite(scaled)
        shares = self._laws(times).below(np.where(seen, scaled, 0.0)[:, None])[:, 0]
        shares = np.where(seen, shares, np.nan)
        return float(shares[0]) if single else shares

    def z(self, at: ArrayLike, values: ArrayLike) -> float | Floats:
        """How many deviations of a normal law the `level` of values is from the median.

        Parameters
        ----------
        at, values
            As of `level`.

        Returns
        -------
        float or array (q,)
            Beyond 2.6 in size (shares below .005 or above .995) it says that a value is far off and
            no more: it is read off the tail of the fitted law, which noise hides. From -6 to 6.
        """
        deviations = scipy.special.ndtri(np.clip(self.level(at, values), 1e-9, 1 - 1e-9))
        return float(deviations) if np.ndim(deviations) == 0 else deviations

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band that is meant to hold the quantile curve of the population.

        Notes
        -----
        Privacy noise and sampling, of which the same table tells how much there is; and an allowance
        for what smooth laws leave out, which was measured on real curves.
        """
        position, times = self.cells.position(at), self.cells.times
        half = half_widths(
            self._posterior, position, times, self.chosen, request.level, request.simultaneous
        )
        lower, upper = self._ends(at)
        cell = np.minimum((position * times).astype(np.int64), times - 1)
        values, reach = self._values(at), np.where(self._few[cell], 1.0, half) * (upper - lower)
        band = Band(at, values - reach, values + reach, request.level, request.simultaneous, COVERS)
        return settled(band, values, (lower, upper))

    # The file.

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        entries = super()._entries(written, kernel)
        names = ("times", "values", "grid_points", "domain_range", "visits")
        cells = Cells(**{name: entries.pop(f"cells.{name}") for name in names})
        levels = tuple(read_quantile(level, "levels") for level in entries.pop("levels"))
        if not 1 <= len(levels) <= MOST_LEVELS or list(levels) != sorted(set(levels)):
            raise ValueError("levels must increase")
        grid, (start, end) = cells.grid_points, cells.domain_range
        if not (start < end and grid.size and start <= grid[0] and grid[-1] <= end):
            raise ValueError("the grid must lie in the domain")
        if np.any(np.diff(grid) <= 0) or not (cells.visits or cells.times <= grid.size):
            raise ValueError("the grid must increase, with a point or more for each cell")
        read_quantile(entries["chosen"], "chosen")
        return entries | {"cells": cells, "levels": levels}

    def _stated_bound(self) -> dict[str, object]:
        constant = np.ptp(self.lower) == 0 and np.ptp(self.upper) == 0
        bound = ValueBounds(float(self.lower[0]), float(self.upper[0])) if constant else None
        bound = bound or ValueBounds(self.lower, self.upper)
        return {"description": bound_words(bound, self.unit)}

    def _added_noise(self) -> list[AddedNoise]:
        return self.shares._added_noise(self.neighbours, self.cells.parts)

    # Tables, pictures and words.

    @property
    def _axis_units(self) -> str:  # type: ignore[override]
        return "units of the data" if self.cells.visits else super()._axis_units

    def _band_points(self) -> Floats:
        return np.linspace(*self.domain_range, BAND_POINTS)[:, None]

    def _default_points(self) -> Floats:
        return self._band_points() if self.cells.visits else self.grid_points[:, None]

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        words = f"{self._value_label}, with a share of {self.chosen:g} below"
        columns = {**super()._columns(at, request)}
        columns["value"] = (columns["value"][0], words)
        for level in self.levels:
            share = f"{self._value_label}, with a share of {level:g} below"
            columns[f"q{100 * level:g}"] = (self._curve_at(at[:, 0], level), share)
        return columns

    def view(self, level: float | None = LEVEL) -> Curve:
        at = self._band_points()[:, 0]
        own = replace(self._line(f"{self.chosen:g}", level), label=f"quantile curve of {self.chosen:g}")
        others = [
            Line(at, self._curve_at(at, share), f"of {share:g}", stroke="dashed")
            for share in reversed(self.levels)
            if share != self.chosen
        ]
        return self._curve([own, *others])

    def _claims(self) -> tuple[Claim, ...]:
        holds = f"the population's curve below which a share of {self.chosen:g} lies"
        units = str(self.about.get("value", "units of the data"))
        legend = f"the population's curve of {self.chosen:g}"
        among = "releases of curves like ordinary ones"
        return (Claim("population", holds, units, legend=legend, among=among, seen=SEEN),)

    @property
    def _contradicted(self) -> str:
        """A warning where the table is far from what smooth laws leave; "" elsewhere."""
        if self._posterior.left.misfit <= ROUGHER:
            return ""
        return (
            "The numbers in the cells change by more than noise and smooth curves explain: the curves "
            "are rougher, or not of one kind. The band was made wider for that, and may still miss them."
        )

    @cached_property
    def _few(self) -> Flags:
        """Cells of time (J,) where hardly anybody was seen, and beside them."""
        shares, cells = self.shares, self.cells
        few = np.zeros(cells.times, dtype=bool)
        if cells.visits:
            table = shares.counts.reshape(cells.times, cells.values)
            seen = np.convolve(table.sum(axis=1), np.ones(3), "same")
            beside = np.convolve(np.ones(cells.times), np.ones(3), "same")
            room = shares.deviation * np.sqrt(cells.values * beside)
            few = seen < np.minimum(CLEAR * room, shares.size * beside / cells.times / SELDOM)
        few.setflags(write=False)
        return few

    @property
    def _scarce(self) -> str:
        """A warning of times at which hardly anybody was seen; "" where there are none."""
        edges = np.linspace(*self.domain_range, self.cells.times + 1)
        ends = edges[np.flatnonzero(np.diff(np.pad(self._few, 1).astype(np.int64)))].reshape(-1, 2)
        times = ", ".join(f"{number(start)}\N{EN DASH}{number(end)}" for start, end in ends.tolist())
        return (
            f"Hardly anybody was seen at these times: {times}. Curves there only go on from those "
            "beside them, and the band reaches from bound to bound."
            if times
            else ""
        )

    @property
    def _outermost(self) -> str:
        """A warning where most values lie at a bound; "" elsewhere."""
        shares, cells = self.shares, self.cells
        table = shares.counts.reshape(cells.times, cells.values)
        least = shares.size / 2 + CLEAR * shares.deviation * cells.times**0.5
        if max(table[:, 0].sum(), table[:, -1].sum()) <= least:
            return ""
        return (
            f"Most values lie in the outermost of {cells.values} cells between the bounds, or beyond: "
            "check units and bounds. Closer bounds make finer curves."
        )

    def _stated(self) -> Stated:
        unit, noise = self.unit, self.shares.noise.describe().replace("coefficient", "cell")
        seen = (
            f"Each {unit} was seen at times of their own and counts as one, spread over what was seen."
            if self.cells.visits
            else f"Each {unit} counts as one, spread evenly over the grid."
        )
        levels = ", ".join(f"{level:g}" for level in self.levels)
        return Stated(
            f"Quantile curves over {self._spoken_domain}: the value below which a given share of the "
            f"population lies, at any time; here for shares of {levels}. {seen} Random noise was added "
            f"to the number of {several(unit)} in each cell of times and values, and smooth curves "
            "that never cross were fitted to the noisy numbers.",
            noised=False,
            public=[f"the domain: {self._spoken_domain}"],
            noise=f"{self.cells.describe()}, {noise}",
            units=used_units(self),
            bounded=["Values beyond the bounds count as on them."],
            first=[words for words in (self._outermost, self._scarce, self._contradicted) if words],
            remarks=[
                f"The band allows for the noise, for the chance of which {several(unit)} these are, "
                "and for as much roughness as real curves had. Spikes and steps narrower than a cell of "
                "times are missed, and the band does not tell of them. Of shares below .005 or above "
                ".995 nothing is stated."
            ],
            numbers={"levels": list(self.levels)},
            findings={"levels": levels},
        )

    def _lines(self) -> dict[str, str]:
        middle = sum(self.domain_range) / 2
        at = f"at {number(middle)}"
        values = ", ".join(
            f"{level:g}: {number(float(self._curve_at(np.array([middle]), level)[0]))}"
            for level in self.levels
        )
        return {"cells": self.cells.describe(), at: values}
