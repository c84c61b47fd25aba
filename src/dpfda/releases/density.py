"""A released density: any released function, made non-negative with integral one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.cells import Domain, box_domain
from dpfda.bases.grids import check_box_points, check_points, frozen, product_points
from dpfda.bases.scales import Scale
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import MOST_NUMBERS, choice, real, reals, seeded, shown, whole, wholes
from dpfda.privacy.certificates import Certificate
from dpfda.releases.banded import Banded
from dpfda.releases.bands import KINDS, MEASURED, Band
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.boxes import check_drawn
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.histogram import ReleasedHistogram
from dpfda.releases.kinds import kinds, part_from_json
from dpfda.releases.lines import settled
from dpfda.releases.proper import PROPER, levelled_band, probabilities
from dpfda.releases.report import counted
from dpfda.releases.words import Words, density_label, noise_line, without_noise
from dpfda.views import View

Floats = NDArray[np.float64]

# The kind, derived from this one, of one variable of a plane given the other.
CONDITIONAL = "dpfda-conditional-density"
# Nodes along each axis, by dimension: a public grid on which the density is piecewise linear.
NODES = {1: 2048, 2: 256, 3: 64}
# Points of a table on an interval; about how many of more variables, for a band takes its time.
ON_LINE, IN_SPACE = 201, 1024


# What a mechanism gives that is made a density.
RawDensity = ReleasedHistogram | ReleasedFunction | ReleasedField


@dataclass(frozen=True, eq=False)
class ReleasedDensity(Banded):
    """A probability density published under differential privacy.

    Call it, integrate it, draw from it as often as anyone likes: that is post-processing. It is made of
    the function `raw` that the mechanism gave, on a public grid of nodes: the density nearest in L2,
    max(raw - c, 0) with c such that the integral is one. On an interval, where `raw` has more than a
    sixteenth of the mass below zero (values that repeat, narrow peaks), that would take it from the
    tails. It is then made up for close by: the density is that whose distribution function is nearest to
    the integral of `raw`, which is levelled where it falls. Between the nodes, which are the midpoints
    of 2048 (256 x 256, 64 x 64 x 64) equal cells, it is linear in each variable; within half a cell of
    the edge it is constant. So integrals, quantiles and draws are those of the very function that a call
    evaluates.

    Parameters
    ----------
    raw : ReleasedHistogram, ReleasedFunction or ReleasedField
        What the mechanism gave, not yet a density.
    scale : Scale, optional
        Where there is one, `raw` lives on it, from 0 to 1, and nodes are equal there.
    proper : {"nearest", "adaptive"}
        Whether it is the nearest one in any case, as in earlier files, or as said above.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateDensity
    >>> ages = np.random.default_rng(1).normal(60, 15, size=3000)
    >>> release = PrivateDensity(epsilon=1, domain=(0, 100)).fit(ages).release_
    >>> bool(0.03 > release(60.0) > release(5.0) >= 0)
    True
    >>> round(release.integral(), 12), bool(50 < release.quantile(0.5) < 70)
    (1.0, True)
    >>> release.sample(5, np.random.default_rng(2)).shape
    (5,)
    """

    FORMAT: ClassVar[str] = "dpfda-density"
    CALLED: ClassVar[str] = "released density"
    DRAWN: ClassVar[tuple[str, ...]] = ("domain", "domain_2")
    band_kinds: ClassVar[tuple[str, ...]] = KINDS
    axis_units: ClassVar[str] = "units of the data"

    raw: RawDensity
    scale: Scale | None = None
    proper: str = "nearest"

    @property
    def domain_range(self) -> Domain:
        """Ends of the box along each axis."""
        return box_domain((self.raw if self.scale is None else self.scale).domain_range)

    @property
    def _own(self) -> Domain:
        """Ends of the box that `raw` lives on."""
        return box_domain(self.raw.domain_range)

    @property
    def dimensions(self) -> int:
        """Number d of variables."""
        return len(self.domain_range)

    @property
    def certificate(self) -> Certificate:
        """What it promises to whom, and what it cost."""
        return self.raw.certificate

    @property
    def about(self) -> Mapping[str, Any]:
        """Versions, date, labels of the axes."""
        return self.raw.about

    @property
    def node_values(self) -> Floats:
        """Values at the nodes: not negative, of mean one over the box's volume."""
        return self._nearest[0]

    @cached_property
    def _nearest(self) -> tuple[Floats, float | None]:
        """Values at the nodes, and what was taken from `raw` wherever they are positive.

        None where it was levelled.
        """
        shape = (NODES[self.dimensions],) * self.dimensions
        cell = self._volume / np.prod(shape)
        raw = _on_grid(self.raw, self._own, shape)
        made, levelled = probabilities(raw * cell, self.proper)
        values = made / cell
        return frozen(values), None if levelled else float(np.mean((raw - values)[values > 0]))

    @property
    def _volume(self) -> float:
        return float(np.prod([b - a for a, b in self._own]))

    def __call__(self, points: ArrayLike) -> Any:
        """Values of the density, per unit of volume.

        Parameters
        ----------
        points : array (q, d) or (d,); on an interval also a number or an array (q,)

        Returns
        -------
        float or array (q,)

        Raises
        ------
        ParameterError
            If a point is outside the domain or has another number of coordinates.
        """
        at, single = check_box_points(points, self.domain_range)
        values = self._interpolated(self._positions(at)) * self._slopes(at)
        return float(values[0]) if single else values

    def _positions(self, at: Floats) -> Floats:
        """Points (q, d) where `raw` lives."""
        return at if self.scale is None else self.scale.positions(at)

    def _slopes(self, at: Floats) -> Floats | float:
        """Length that a unit of the axis has where `raw` lives, at points (q, d)."""
        return 1.0 if self.scale is None else self.scale.slopes(at[:, 0])

    def _interpolated(self, at: Floats, values: Floats | None = None) -> Floats:
        ends = np.array(self._own)
        nodes = NODES[self.dimensions]
        position = (at - ends[:, 0]) / (ends[:, 1] - ends[:, 0]) * nodes - 0.5
        return np.asarray(
            scipy.ndimage.map_coordinates(
                self.node_values if values is None else values, position.T, order=1, mode="nearest"
            )
        )

    def on_grid(self, shape: Sequence[int] | None = None) -> Floats:
        """Values at the midpoints of a regular grid; by default at the nodes.

        Parameters
        ----------
        shape : sequence of d int, optional
        """
        wanted = self.node_values.shape if shape is None else wholes(shape, "shape", self.dimensions)
        if wanted == self.node_values.shape and self.scale is None:
            return self.node_values.copy()
        return np.reshape(self(product_points(_midpoints(self.domain_range, wanted))), wanted)

    def midpoints(self, shape: Sequence[int] | None = None) -> tuple[Floats, ...]:
        """Midpoints along each axis of the grid of `on_grid`."""
        own = self.node_values.shape
        wanted = own if shape is None else wholes(shape, "shape", self.dimensions)
        return _midpoints(self.domain_range, wanted)

    def integral(self, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> float:
        """Probability of a box, by default of the whole domain: one, up to rounding.

        Parameters
        ----------
        lower, upper : float or array (d,), optional
            Ends of the box, inside the domain.
        """
        starts, stops = self._corner(lower, "lower", 0), self._corner(upper, "upper", 1)
        if self.scale is not None:
            return float(np.diff(self.cdf(np.concatenate([starts, stops])))[0])
        total = self.node_values
        for (a, b), start, stop in zip(self.domain_range, starts, stops, strict=True):
            check_points([start, stop], (a, b))
            cell = (b - a) / total.shape[0]
            weights = cell * (
                _below(total.shape[0], (stop - a) / cell) - _below(total.shape[0], (start - a) / cell)
            )
            total = np.tensordot(weights, total, axes=(0, 0))
        return float(total)

    def _corner(self, given: ArrayLike | None, name: str, end: int) -> Floats:
        """One number for each variable; by default the ends of the domain."""
        if given is None:
            return np.array([ends[end] for ends in self.domain_range])
        corner = np.atleast_1d(reals(given, name))
        if corner.shape != (self.dimensions,):
            raise ParameterError(name, f"be {self.dimensions} numbers, one a variable", shown(given))
        return corner

    def marginal(self, axis: int = 0) -> tuple[Floats, Floats]:
        """Knots and values of the density of one variable, which is linear between them.

        With a scale it is nearly linear there.

        Parameters
        ----------
        axis : int
            Number of the variable, from 0.
        """
        knots, values = self._marginal(axis)
        if self.scale is None:
            return knots, values
        knots = self.scale.points(knots)
        return knots, values * self.scale.slopes(knots)

    def _marginal(self, axis: int) -> tuple[Floats, Floats]:
        """The same where `raw` lives."""
        axis = whole(axis, "axis", 0, self.dimensions - 1)
        a, b = self._own[axis]
        others = tuple(i for i in range(self.dimensions) if i != axis)
        rest = self._volume / (b - a)
        values = self.node_values.mean(axis=others) * rest if others else self.node_values
        middle = _midpoints([(a, b)], [values.size])[0]
        return (
            np.concatenate([[a], middle, [b]]),
            np.concatenate([values[:1], values, values[-1:]]),
        )

    def cdf(self, points: ArrayLike, axis: int = 0) -> Any:
        """Distribution function, of one variable where there are several.

        Parameters
        ----------
        points : float or array (q,)
            Points of the domain of that variable.
        axis : int
            Number of the variable, from 0.
        """
        knots, values = self._marginal(axis)
        at = self._positions(check_points(points, self.domain_range[axis]))
        at = np.clip(at, knots[0], knots[-1])
        reached = _cumulated(knots, values)
        cell = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, knots.size - 2)
        step, width = at - knots[cell], knots[cell + 1] - knots[cell]
        slope = (values[cell + 1] - values[cell]) / width
        found = np.clip((reached[cell] + step * (values[cell] + slope * step / 2)) / reached[-1], 0, 1)
        return float(found[0]) if np.ndim(points) == 0 else found

    def quantile(self, levels: ArrayLike, axis: int = 0) -> Any:
        """Quantiles: the smallest point at which `cdf` reaches each level.

        Parameters
        ----------
        levels : float or array (q,)
            Probabilities, from 0 to 1.
        axis : int
            Number of the variable, from 0.
        """
        wanted = _levels(levels)
        knots, values = self._marginal(axis)
        reached = _cumulated(knots, values)
        share = wanted * reached[-1]
        cell = np.clip(np.searchsorted(reached, share, side="left") - 1, 0, knots.size - 2)
        width, rest = knots[cell + 1] - knots[cell], np.maximum(share - reached[cell], 0.0)
        slope = (values[cell + 1] - values[cell]) / width
        # Root of values s + slope s^2 / 2 = rest in the form that does not cancel.
        root = np.sqrt(np.maximum(values[cell] ** 2 + 2 * slope * rest, 0.0))
        below = values[cell] + root
        step = np.where(rest > 0, 2 * rest / np.where(below > 0, below, 1.0), 0.0)
        found = knots[cell] + np.clip(step, 0.0, width)
        found = found if self.scale is None else self.scale.points(found)
        return float(found[0]) if np.ndim(levels) == 0 else found

    def quantile_interval(self, levels: ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Intervals that hold the quantiles of the data, at all levels at once, with a probability.

        They follow from the counts without any smoothing and hold whatever the density: the ends are
        edges of cells below and above which the band of the shares has left the level. They are about
        the privacy noise alone, not sampling.

        Parameters
        ----------
        levels : float or array (q,)
            Probabilities, from 0 to 1.
        level : float
            Probability that all intervals hold.

        Returns
        -------
        lower, upper : float or array (q,)

        Raises
        ------
        ParameterError
            If the release is not made of counts on an interval.
        """
        if not isinstance(self.raw, ReleasedHistogram):
            raise ParameterError("quantile_interval", "be asked of counts", self.raw.mechanism["name"])
        wanted, band = _levels(levels), self.raw.cdf_band(level)
        edges = self.raw.cells.edges[0] if self.scale is None else self.scale.edges(self.raw.cells.size)
        inner = edges[1:-1]
        ends = np.array(
            [
                (
                    max(inner[band.upper[:-1] < share], default=edges[0]),
                    min(inner[band.lower[:-1] >= share], default=edges[-1]),
                )
                for share in wanted
            ]
        ).reshape(-1, 2)
        if np.ndim(levels) == 0:
            return float(ends[0, 0]), float(ends[0, 1])
        return ends[:, 0], ends[:, 1]

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Floats:
        """Synthetic data: independent draws from the density. Costs no privacy.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy Generator, seed or None
            The caller's own: this randomness protects nobody.

        Returns
        -------
        array (n,), or (n, d) in d dimensions
        """
        count, generator = whole(n, "n", 0, MOST_NUMBERS), seeded(rng, "rng")
        weights = self.node_values.ravel() / self.node_values.sum()
        chosen = generator.choice(weights.size, size=count, p=weights)
        nodes = np.stack(np.unravel_index(chosen, self.node_values.shape), axis=1)
        # A linear interpolant is a mixture of triangular densities around the nodes, folded at the ends.
        uniforms = generator.uniform(size=(2, *nodes.shape))
        ends, knots = np.array(self._own), NODES[self.dimensions]
        position = np.abs(nodes + 0.5 + uniforms[0] - uniforms[1])
        position = np.minimum(position, 2 * knots - position) / knots
        drawn = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * position
        if self.scale is not None:
            drawn = self.scale.points(drawn)
        return np.asarray(drawn[:, 0] if self.dimensions == 1 else drawn)

    def _around(self, at: Floats, level: float, simultaneous: bool, kind: str) -> Band:
        """Band for the density that would have been released without noise; never below zero.

        Notes
        -----
        "measured" is the band of `raw`, the estimate before it was made a density: exact where that
        of `raw` is, and perhaps below zero. "mean" is made of it as the density is of `raw`: shifted
        by as much at one end, cut at zero; and it contains the released density.

        Like that of `raw` it is about the privacy noise alone, not smoothing or sampling; and under
        "monotone" about the average over the cell that a point lies in.
        """
        band = self.raw.band(level, simultaneous, self._positions(at), "measured")
        where, slopes = at[:, 0] if self.dimensions == 1 else at, self._slopes(at)
        if kind in MEASURED:
            return replace(band, points=where, lower=band.lower * slopes, upper=band.upper * slopes)
        taken = self._nearest[1] or 0.0
        lower = np.maximum(band.lower - max(taken, 0.0), 0.0) * slopes
        upper = np.maximum(band.upper + max(-taken, 0.0), 0.0) * slopes
        band = replace(band, points=where)
        if self._nearest[1] is None:
            least, largest = (
                self._interpolated(self._positions(at), side) for side in self._levelled(band)
            )
            lower, upper = np.minimum(lower, least * slopes), np.maximum(upper, largest * slopes)
        return settled(replace(band, lower=lower, upper=upper), self(band.points))

    def _levelled(self, band: Band) -> tuple[Floats, Floats]:
        """Bounds at the nodes for what `raw` without its noise is levelled to."""
        assert isinstance(self.raw, ReleasedHistogram)  # noqa: S101
        cell = self._volume / self.node_values.size
        raw = _on_grid(self.raw, self._own, self.node_values.shape) * cell
        lower, upper = levelled_band(self.raw, raw, band.level, band.simultaneous)
        return lower / cell, upper / cell

    def smoothed(self, smoothing: Any) -> ReleasedDensity:
        """The same noisy counts, smoothed otherwise: "adaptive" or a bandwidth. Costs no privacy.

        Raises
        ------
        ParameterError
            If the release is not made of counts.
        """
        if not isinstance(self.raw, ReleasedHistogram):
            raise ParameterError(
                "smoothing", "be changed on a histogram only", self.raw.mechanism["name"]
            )
        if self.scale is not None and not isinstance(smoothing, str):
            words = "be 'adaptive' or 'monotone' on a scale"
            raise ParameterError(
                "smoothing", words, shown(smoothing), "A bandwidth is in units of the axis."
            )
        return replace(self, raw=self.raw.smoothed(smoothing))

    def conditional(self, value: float, axis: int = 0) -> ReleasedDensity:
        """The density of one variable of a plane where the other has a value. Costs no privacy.

        Parameters
        ----------
        value : float
            Of the variable that is given, in its units and inside its domain.
        axis : {0, 1}
            Number of the variable that is given, from 0.

        Returns
        -------
        ReleasedDensity
            A `dpfda.releases.conditional.ReleasedConditionalDensity`: values, `cdf`, `quantile`,
            `sample` and `band` of the other variable.

        Raises
        ------
        ParameterError
            If the release is not made of counts in the plane, or the value is outside the domain.
        """
        if not isinstance(self.raw, ReleasedHistogram) or self.dimensions != 2:
            found = f"a density of {self.dimensions} variable(s), {self.raw.mechanism['name']}"
            raise ParameterError("conditional", "be asked of counts of two variables", found)
        axis = whole(axis, "axis", 0, 1)
        a, b = self.domain_range[axis]
        given = real(value, "value", a, b, f"lie in the domain from {a:g} to {b:g}")
        made: Any = kinds()[CONDITIONAL]
        return made(self.raw, axis=axis, place=given)  # type: ignore[no-any-return]

    # Its file: what the mechanism gave, from which the density is made again.

    def to_entries(self) -> dict[str, Any]:
        scale = {} if self.scale is None else {"scale": self.scale.to_json()}
        return {"raw": self.raw.to_json(), "proper": self.proper, **scale}

    @classmethod
    def from_json(cls, written: dict[str, Any], kernel: Any = None) -> Self:
        raw = part_from_json(written["raw"], Release, kernel)
        if not isinstance(raw, RawDensity):
            raise ValueError("unknown raw release")
        scale = Scale.from_json(written["scale"]) if "scale" in written else None
        return cls(raw, scale, choice(written.get("proper", "nearest"), "proper", PROPER))

    # Tables, pictures and words.

    def default_points(self) -> Floats:
        if self.scale is not None:
            return self.scale.points(np.linspace(0.0, 1.0, ON_LINE))[:, None]
        if self.dimensions == 1:
            return np.linspace(*self.domain_range[0], ON_LINE)[:, None]
        return product_points(
            self.midpoints((round(IN_SPACE ** (1 / self.dimensions)),) * self.dimensions)
        )

    def band_points(self) -> Floats:
        points = self.raw.band_points()
        return points if self.scale is None else self.scale.points(points)

    def columns(
        self, at: Floats, level: float, simultaneous: bool, kind: str | None
    ) -> dict[str, Column]:
        if self.dimensions > 1:
            return super().columns(at, level, simultaneous, kind)
        cdf = np.asarray(self.cdf(at[:, 0])), "share of the units up to the point"
        first, *band = super().columns(at, level, simultaneous, kind).items()
        return dict([first, ("cdf", cdf), *band])

    def view(self, level: float | None = LEVEL) -> View:
        if self.dimensions == 1:
            return self.curve([self.line("released density", level)], baseline=0.0)
        check_drawn(self.dimensions, "Draw release.marginal(axis), or a slice of release.on_grid().")
        return self.image(self.on_grid(), level, floor=0.0)

    @property
    def subject(self) -> str:
        return "density"

    @property
    def made_by(self) -> str:
        return f"{self.raw.mechanism['name']} mechanism"

    @property
    def public_units(self) -> int | None:
        return self.raw.public_units

    @property
    def value_label(self) -> str:
        return density_label(self.about, self.dimensions)

    def band_words(self, level: float) -> str:
        return self.raw.band_words(level)

    def highlights(self) -> dict[str, str]:
        band = self.band()
        return {"noise": noise_line(band, self(band.points), self.value_label)}

    def words(self) -> Words:
        raw, edges = self.raw, list[str]()
        made = f"{raw.mechanism['name']} estimate"
        if isinstance(raw, ReleasedHistogram):
            made, edges = self._cells_words(raw), raw.edges_words()
        band = self.band()
        hidden = "the density that would have been published without noise"
        if getattr(raw, "smoothing", None) == "monotone":
            hidden = f"averaged over each cell, {hidden},"
        moved, rest = without_noise(band, self(band.points), hidden, "per unit of the domain")
        return Words(
            published=[
                f"A probability {self.subject} over {self.spoken_domain}: nowhere negative, with "
                "integral one. "
                f"Random noise was added to protect every {self.unit} behind it.",
                "It can be evaluated at any point, integrated, drawn, and used to draw synthetic data, "
                "as often as anyone likes. That costs no further privacy, because it uses the published "
                "function only.",
            ],
            assumed=counted(self, f"{made}, {raw.noise.describe()}"),
            accurate=[moved, *edges, rest],
        )

    def lines(self) -> dict[str, str]:
        lines = self.raw.lines()
        if self.scale is not None and isinstance(self.raw, ReleasedHistogram):
            lines["cells"] = self._cells_words(self.raw)
        return lines

    def _cells_words(self, raw: ReleasedHistogram) -> str:
        if self.scale is None:
            return raw.cells.describe()
        kind = "a scale chosen privately" if raw.mechanism.get("scale") == "zoom" else "a public scale"
        a, b = self.scale.domain_range
        return f"{raw.cells.size} cells, equal on {kind}, of [{a:g}, {b:g}]"

    def facts(self) -> dict[str, Any]:
        domain = [list(ends) for ends in self.domain_range]
        return {"mechanism": dict(self.raw.mechanism), "domain_range": domain}


def _levels(levels: ArrayLike) -> Floats:
    wanted = np.atleast_1d(reals(levels, "levels"))
    if wanted.ndim != 1 or not np.all((wanted >= 0) & (wanted <= 1)):
        raise ParameterError("levels", "be probabilities from 0 to 1", "others")
    return wanted


def _on_grid(raw: RawDensity, domain: Domain, shape: tuple[int, ...]) -> Floats:
    if isinstance(raw, ReleasedFunction):
        return np.asarray(raw(_midpoints(domain, shape)[0]))
    return raw.on_grid(shape)


def _midpoints(domain: Sequence[tuple[float, float]], shape: Sequence[int]) -> tuple[Floats, ...]:
    axes = zip(domain, shape, strict=True)
    return tuple(a + (b - a) * (np.arange(count) + 0.5) / count for (a, b), count in axes)


def _cumulated(knots: Floats, values: Floats) -> Floats:
    areas = (values[1:] + values[:-1]) / 2 * np.diff(knots)
    return np.concatenate([[0.0], np.cumsum(areas)])


def _below(nodes: int, position: float) -> Floats:
    """Integral of each node's folded hat function from 0 to `position`, in units of a cell."""
    middle = np.arange(nodes, dtype=np.float64) + 0.5
    return np.asarray(
        _hat(position - middle) - _hat(-position - middle) + 1 - _hat(2 * nodes - position - middle)
    )


def _hat(x: Floats) -> Floats:
    """Integral from minus infinity of the hat function on [-1, 1]."""
    inside = np.clip(x, -1.0, 1.0)
    return np.where(inside < 0, (1 + inside) ** 2 / 2, 1 - (1 - inside) ** 2 / 2)
