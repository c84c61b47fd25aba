"""A released conditional density: of one variable of a plane, where the other has a given value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from dpfda.bases.cells import Domain, box_domain, cosines
from dpfda.bases.grids import check_points, frozen, middles
from dpfda.density.banded import NODES
from dpfda.density.cell_errors import block_noise, is_fine
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.many_cells import block_lines, blocks_for, variances_at
from dpfda.density.release import ReleasedDensity
from dpfda.estimates.histospline import nearest_shares
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole
from dpfda.numerics.words import several
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import Claim, Stated
from dpfda.views import Curve, View

# What is taken off the difference from the marginal, in variances of what noise and sampling do to it.
TAKEN = 0.5
TINY = 1e-9
# Where less of the difference from the marginal is shown, that is said first.
KNOWN = 0.5
# Points along the variable at which that variance is averaged; simulated functions of a band.
AVERAGED, DRAWS = 64, 1000
UNIT = 0.0, 1.0


@dataclass(frozen=True, eq=False)
class ReleasedConditionalDensity(ReleasedDensity):
    """The density of one variable where another has a given value, out of a density of both.

    `dpfda.ReleasedDensity.conditional` makes it, at no cost: it is post-processing of the noisy counts
    of the plane, and everything that a released density on an interval has, it has (distribution
    function, quantiles, draws, bands). With the smooth function g(x, y) of these counts, on the unit
    square, f(x) its integral over y and m(y) that over x, it is the density nearest to

        m(y) + w(x) (g(x, y) - f(x) m(y)) / max(f(x), V(x)^(1/2)).

    V is the variance, averaged over y, that noise and sampling of a uniform density give g at x, and
    w(x) = max(0, 1 - V(x) / (2 S(x))), with S the mean square of the difference from f m, says how much
    of this can be more than noise (James & Stein). So it is continuous in x as well, and where hardly
    anybody is, it goes over into the marginal instead of into noise.

    Parameters
    ----------
    raw : ReleasedHistogram
        Noisy counts in the plane.
    axis : {0, 1}
        Number of the variable that is given.
    place : float
        Its value, in the units of the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateDensity
    >>> rng = np.random.default_rng(1)
    >>> ages = rng.uniform(20, 80, size=4000)
    >>> pressures = 90 + 0.6 * ages + rng.normal(0, 12, size=4000)
    >>> both = np.column_stack([ages, pressures])
    >>> release = PrivateDensity(epsilon=1, domain=[(20, 80), (60, 200)]).fit(both).release_
    >>> young, old = release.conditional(30), release.conditional(70)
    >>> bool(young.quantile(0.5) < 120 < old.quantile(0.5)), bool(old.cdf(120) < young.cdf(120))
    (True, True)
    """

    raw: ReleasedHistogram
    axis: int = 0
    place: float = 0.0

    _FORMAT: ClassVar[str] = "dpfda-conditional-density"
    _CALLED: ClassVar[str] = "released conditional density"
    _DRAWN: ClassVar[tuple[str, ...]] = ("domain",)
    _has_exact: ClassVar[bool] = False
    _of_sample: ClassVar[bool] = False
    _ENTRIES: ClassVar[file.Table] = {
        "raw": file.part(ReleasedHistogram),
        "axis": file.whole_number(),
        "place": file.NUMBER,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.raw.dimensions != 2 or self.scale is not None:
            raise ParameterError("raw", "be counts in the plane", self.raw.cells.describe())
        check_points(self.place, self.raw.domain_range[whole(self.axis, "axis", 0, 1)])

    @property
    def _own(self) -> Domain:
        """Ends of the domain of the variable."""
        return box_domain(self.raw.domain_range[1 - self.axis])

    @property
    def about(self) -> Mapping[str, object]:
        """Versions, date, the label of the variable."""
        labels = {name: text for name, text in self.raw.about.items() if not name.startswith("domain")}
        label = self.raw.about.get("domain" if self.axis == 1 else "domain_2")
        return labels if label is None else {**labels, "domain": label}

    @cached_property
    def _nearest(self) -> tuple[Floats, float | None]:
        return frozen(self._made(self._before(self._along(self.raw.coefficients)))), None

    def _made(self, before: Floats) -> Floats:
        """The nearest densities, by their values (..., R) at the nodes."""
        shares = nearest_shares(before / before.shape[-1])
        # What rounding left of the constraint.
        return np.asarray(shares / np.mean(shares, axis=-1, keepdims=True) / self._volume)

    def _before(self, lines: Floats) -> Floats:
        """What is made a density, at the nodes of the unit interval, of `_along` (2, K, ..)."""
        difference, marginal, share = self._split(lines)
        factor, least = self._reliable
        return np.asarray(marginal + factor * difference / np.maximum(share, least))

    def _along(self, coefficients: Floats) -> Floats:
        """Of coefficients in the plane: those along the variable of g and of m, (2, K)."""
        along = np.moveaxis(coefficients, self.axis, 0)
        return np.stack([self._waves @ along, along[0]])

    def _split(self, lines: Floats) -> tuple[Floats, Floats, Floats]:
        """Of a smooth function in the plane: g - f m and m at the nodes, and f."""
        joint, marginal = (self._cosines @ line for line in lines)
        return joint - lines[0, 0] * marginal, marginal, lines[0, 0]

    @cached_property
    def _waves(self) -> Floats:
        """The covariate's cosine functions at the given value."""
        return frozen(cosines(self.raw.coefficients.shape[self.axis], np.array([self._position]))[0])

    @cached_property
    def _cosines(self) -> Floats:
        """The variable's cosine functions at the nodes."""
        return frozen(cosines(self.raw.coefficients.shape[1 - self.axis], middles(UNIT, NODES[1])))

    @cached_property
    def _reliable(self) -> tuple[float, float]:
        """The factor w and the root of V: functions of the noisy counts."""
        at = np.empty((AVERAGED, 2))
        at[:, self.axis], at[:, 1 - self.axis] = self._position, middles(UNIT, AVERAGED)
        variance = self.raw.share_variance + 1 / (self.raw.size * self.raw.cells.size)
        noise = variance * float(np.mean(variances_at(self.raw.smoother, at)))
        square = float(np.mean(self._split(self._along(self.raw.coefficients))[0] ** 2))
        factor = max(0.0, 1 - TAKEN * noise / square) if square > 0 else 0.0
        return factor, max(noise**0.5, TINY)

    @property
    def known(self) -> float:
        """How much of the difference from the density of all is shown: one where many are near."""
        share, (factor, least) = float(self._along(self.raw.coefficients)[0, 0]), self._reliable
        return factor * min(max(share, 0.0) / least, 1.0)

    @property
    def few_words(self) -> str:
        """That too few are near the value, where it is so."""
        if self.known >= KNOWN:
            return ""
        return (
            f"too few {several(self.unit)} are near this value: {1 - self.known:.0%} of what is shown "
            "is the density of all, whatever their value."
        )

    @property
    def _position(self) -> float:
        """Where on the unit interval the covariate is."""
        a, b = self.raw.domain_range[self.axis]
        return (self.place - a) / (b - a)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band for what would have been released without noise; never below zero.

        Notes
        -----
        The counts without noise are made a conditional density by the same steps, with the weights
        of smoothing, w and V as they are. Noise is simulated, all steps are run on the noisy counts
        without it, and the band reaches as far to both sides as a share `level` of these densities
        does: by a multiple of the deviation before the last step, or point by point. Where noise made
        the divisor f too large all of these are too close, so the band is widened by what the noise
        of f does that a share `level` of it stays below. That is approximate; measured coverage is in
        the docs on densities. It is about the privacy noise alone, not smoothing or sampling.
        """
        where, lines, own = at[:, 0], self._along(self.raw.coefficients), self.node_values
        nodes = middles(self.domain_range[0], own.size)
        (others, shares), middle = self._without_noise, self._before(lines)
        errors = np.array([np.interp(where, nodes, other) for other in self._made(others) - own])
        before = np.array([np.interp(where, nodes, other - middle) for other in others])
        if asked.simultaneous:
            deviation = np.sqrt(np.mean(before**2, axis=0))
            deviation = np.where(deviation > 0, deviation, 1.0)
            reached = np.max(np.abs(errors) / deviation, axis=1)
            width = np.quantile(reached, asked.level, method="higher") * deviation
        else:
            width = np.quantile(np.abs(errors), asked.level, axis=0, method="higher")
        share, (_, least) = float(lines[0, 0]), self._reliable
        larger = float(np.std(shares)) * max(1.0, float(scipy.special.ndtri(asked.level)))
        width = width * (max(share, least) / max(share - larger, least))
        values = np.asarray(self(where))
        return Band(
            where, np.maximum(values - width, 0.0), values + width, asked.level, asked.simultaneous
        )

    @cached_property
    def _without_noise(self) -> tuple[Floats, Floats]:
        """Without simulated noise: the density before the last step (DRAWS, nodes), and f (DRAWS,)."""
        lines = self._along(self.raw.coefficients)
        generator = np.random.Generator(np.random.Philox(key=4))
        without = np.empty((*lines.shape, DRAWS))
        for draw, moved in enumerate(self._moved(generator)):
            without[..., draw] = lines - moved
        return frozen(self._before(without).T), frozen(without[0, 0])

    def _moved(self, generator: np.random.Generator) -> Iterator[Floats]:
        """What simulated noise in the counts does to `_along`; in many cells, its sums over blocks."""
        raw, step = self.raw, self.raw.share_step
        if not is_fine(raw.cells):
            linear = raw.smoother.coefficients(raw.cells.shares)
            for _ in range(DRAWS):
                noise = raw.noise.simulate(generator, 1)[0].reshape(raw.cells.shape) * step
                yield self._along(raw.smoother.coefficients(raw.cells.shares + noise) - linear)
            return
        blocks = blocks_for(raw.smoother)
        shape = [cells // block for cells, block in zip(raw.cells.shape, blocks, strict=True)]
        first = np.zeros_like(self._waves)
        first[0] = 1.0
        moved = block_lines(raw.smoother, self.axis, np.stack([self._waves, first]), blocks)
        for _ in range(DRAWS):
            sums = block_noise(raw.noise, generator, 1, math.prod(shape), math.prod(blocks))
            yield moved(sums.reshape(shape) * step)

    def _band_points(self) -> Floats:
        return self._default_points()

    def view(self, level: float | None = LEVEL) -> View:
        """Dashed and without a band where too few are near the value: noise is not what is unknown."""
        picture = super().view(None if self.few_words else level)
        if not isinstance(picture, Curve) or not self.few_words:
            return picture
        label = "released density, mostly that of all"
        lines = (replace(line, stroke="dashed", label=label) for line in picture.lines)
        return replace(picture, lines=tuple(lines))

    def _claims(self) -> tuple[Claim, ...]:
        # Weights are held, which without noise would be others.
        claims = super()._claims()
        return tuple(replace(claim, among="releases", legend=claim.holds) for claim in claims)

    def _stated(self) -> Stated:
        stated, few = super()._stated(), self.few_words
        if not few:
            return stated
        first = [*stated.first, f"{few[:1].upper()}{few[1:]}"]
        return replace(stated, first=first, findings={**stated.findings, "few": few})

    @property
    def _subject(self) -> str:  # type: ignore[override]
        label = self.raw.about.get("domain" if self.axis == 0 else "domain_2")
        name = str(label or ("the first", "the second")[self.axis]).partition(" (")[0]
        return f"density given {name} = {self.place:g}"

    def _numbers(self) -> dict[str, object]:
        return {**super()._numbers(), "given": {"axis": self.axis, "value": self.place}}
