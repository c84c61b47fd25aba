"""The default mean of curves between bounds: a posterior mean that knows neither roughness nor scale.

In shares u of the distance between the bounds, the mean is a curve around 1/2, or around a public curve
if one is given. What is seen is A u plus noise. Given a component of the prior and a scale s, u - centre
is normal with covariance s R R', and the noise is first taken as normal with its known variances; with D
the noise deviations and D^-1 A R (D^-1 A R)' = U L U' the likelihood of a scale, and the mean given it,
cost O(M) after one factorisation. Components and scales are weighted by their evidence.

**Components.** On eigenfunctions phi_j of a kernel whose first is nearly constant, variances
(1 + (r j)^2)^(-e/2) of sum 1/4, r in {.1, .3, 1}: smooth for e in {4, 6, 8}, rough for e in {2, 3}; each
also with 10^4 times the first variance, a level of its own. Then one *local* component, made from the
first estimate f: u'' is white noise whose power follows f''^2, averaged over neighbours, with a floor;
level and slope are free. It uses the release twice, and its evidence decides how much it counts.

**The law of a box.** From the third version on the means are not those under normal noise, where the
noise is of a box: a mean that varies little from cell to cell is told by the cells that lie farthest out
better than by all of them together. Components keep the weights that they have under normal noise. Then
what is seen is replaced by what normal noise would have to show for the mean that the law of the box
gives (`dpfda.estimates.box_law`).

**A constant.** From the second version on, the mean may also be one level c. For that alone the evidence
too is by the law of the box: its likelihood exp(-max_j |y_j - c| / b) is that of a Laplace law about
the midrange of the cells. The error is about 2^(1/2) b whatever the number M of cells, where the mean
over the cells would have (M / 3)^(1/2) b.

**Constants.** They were set on 39 sets of real curves and are fixed per version of `CurvePrior`: a file
keeps its line. They decide accuracy alone; the input is the noisy release and public numbers.

The line is the posterior mean, clipped to the bounds. Its band is `dpfda.estimates.widths`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from dpfda.bases.priors import CurvePrior
from dpfda.estimates.box_law import Prior, as_normal, constant_evidence, scale_of
from dpfda.estimates.components import (
    KEPT,
    LINE,
    NEGLIGIBLE,
    PUBLIC,
    Fit,
    Part,
    cycle_roots,
    eigenfunctions,
    factorised,
    local_root,
    log_weights,
    log_weights_of_differences,
    mixed_mean,
    normalised,
    shared_parts,
    weights_of,
)
from dpfda.noise import NoiseLaw
from dpfda.noise.bodies import InBox
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.speed import one_thread

# That of a constant, for each cell: near-constant shapes explain it nearly as well, and the more so the
# more cells there are.
CONSTANT = 3.0
# Of longer grids so many points carry the curve, linear between them; up to here every function counts.
LARGEST_GRID = 600
ALL_FUNCTIONS = 200
# Factors for at most so many cells are kept for releases that come after.
MOST_SHARED = 256
# Components that weigh more than this make the prior for the law of the box.
CONSIDERED = 1e-3
# Cells that see a level alike do so up to the rounding of the noise's scales.
ALIKE = 1e-3


class Errors(Protocol):
    """Errors of what is measured, as far as an estimate must know them: a noise law, and more."""

    @property
    def components(self) -> int:
        """How many numbers were measured."""

    def variances(self) -> Floats:
        """Variance of each."""

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M)."""


@dataclass(frozen=True, eq=False)
class CurveModel:
    """What was measured of a mean between bounds, ready for any number of noisy outcomes.

    grid: array (m,). Of the curves, scaled to [0, 1].
    places: array (N,) of int. Grid points that carry the curve: all of them, but on long grids, where it
        is linear between.
    forms: array (M, m). What is measured of u - 1/2 on the grid, in units of the data.
    noise: Of what is measured, and perhaps of the number of units after it: a law, mostly.
    step: One unit of the noise, in units of what is measured.
    finest: Cells of the finest of several measurements that are one here; None where there is one.
    differs: Whether it is a difference, which is mostly small.
    """

    prior: CurvePrior
    grid: Floats
    places: Integers
    forms: Floats
    noise: Errors
    step: float
    finest: int | None = None
    differs: bool = False
    # Deviations from the line are looked at in so many points; widths are linear between them.
    looks: ClassVar[int] = 200
    # Half-widths where every unit was seen once: a mixture, and a factor (`dpfda.estimates.widths`);
    # and whether cells are one after another, with an outer one at either end.
    alone: ClassVar[tuple[str, float]] = ("rich", 0.82)
    in_one_order: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        prior: CurvePrior,
        grid: Floats,
        analysis: Floats,
        noise: NoiseLaw,
        step: float,
        counted: bool = False,
    ) -> CurveModel:
        """Put the public parts together.

        grid: array (m,).
        analysis: array (m, K). Takes values on the grid to coefficients of the basis.
        noise: Of what was measured, the sums over cells or the leading coefficients.
        step: One unit of the noise, over the number of units.
        counted: Whether the noise has a coordinate more, that of the number of units.
        Raises ParameterError if they differ in size.
        """
        if grid.size != prior.lower.size or grid.size < 2:
            raise ParameterError("grid", f"have {prior.lower.size} points", f"{grid.size}")
        measured = noise.components - counted
        if prior.cells is not None:
            labels = prior.labels
            forms = np.equal.outer(np.arange(labels[-1] + 1), labels) * prior.width
        else:
            forms = analysis[:, :measured].T * prior.width
        if forms.shape[0] != measured:
            raise ParameterError("noise", f"have {forms.shape[0]} coordinates", f"{measured}")
        unit_grid = (grid - grid[0]) / (grid[-1] - grid[0])
        places = np.rint(np.linspace(0, grid.size - 1, min(grid.size, LARGEST_GRID)))
        return cls(prior, unit_grid, places.astype(np.int64), forms, noise, step)

    @property
    def resolution(self) -> int:
        """Number of cells or functions that were measured."""
        return int(self.forms.shape[0])

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations (M,) of the noise, in units of what is measured."""
        return np.asarray(np.sqrt(self.noise.variances()[: self.resolution]) * self.step)

    @cached_property
    def seen(self) -> Floats:
        """What is seen (M, N) of a curve, in noise deviations."""
        scaled = self.forms / self.deviations[:, None]
        return scaled if self.lift is None else np.asarray(scaled @ self.lift)

    @property
    def centers(self) -> list[Floats]:
        """One half, then the public curves, at the carrying points."""
        return [np.full(self.times.size, 0.5), *self.prior.curves[:, self.places]]

    @cached_property
    def times(self) -> Floats:
        """Times (N,) in [0, 1] of the carrying points."""
        return np.ascontiguousarray(self.grid[self.places])

    @cached_property
    def lift(self) -> Floats | None:
        """Interpolation (m, N) from them to the grid; None where they are the grid."""
        return None if self.places.size == self.grid.size else interpolation(self.times, self.grid)

    @cached_property
    def functions(self) -> tuple[Floats, Floats]:
        """Functions (N, K) that components share, and what is seen (M, K) of them."""
        functions, _ = eigenfunctions(self.times.tobytes())
        points = self.times.size
        if self.identity is None and points > ALL_FUNCTIONS:
            functions = functions[:, : min(points, 4 * self.resolution + 50)]
        return functions, np.asarray(self.seen @ functions)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Components that do not look at the release: public, so that releases alike share them."""
        functions, seen = self.functions
        ratio, times = self.identity, self.times
        if ratio is None and self.resolution > MOST_SHARED:
            return factorised(times, functions.shape[1], seen, None)
        return shared_parts(times, functions.shape[1], seen, ratio)

    @cached_property
    def cycles(self) -> tuple[Part, ...]:
        """Components of known cycles; none without."""
        roots = cycle_roots(self.times, self.prior.periods) if self.prior.periods else []
        return tuple(Part.of("cycle", root, self.seen @ root) for root in roots)

    def local(self, curve: Floats) -> list[Part]:
        """Components that a first estimate (N,) makes: one that bends where it does."""
        root = local_root(curve, self.times, self.resolution)
        return [Part.of("local", root, self.seen @ root)]

    @property
    def identity(self) -> float | None:
        """Factor f where `seen` is f times the identity and all points weigh the same."""
        seen, (_, weights) = self.seen, eigenfunctions(self.times.tobytes())
        if seen.shape[0] != seen.shape[1] or np.ptp(weights) > 0:
            return None
        ratio = float(seen[0, 0])
        return ratio if np.allclose(seen, ratio * np.eye(len(seen)), rtol=1e-9, atol=0) else None

    def posterior(self, noisy: Floats) -> CurvePosterior:
        """What follows from one noisy outcome (M,), in the units of what is measured."""
        return CurvePosterior(self, noisy / self.deviations)

    def first_means(self, noisy: Floats) -> Floats:
        """Posterior means (n, m) of u on the grid before the local component, for many outcomes (n, M).

        For studies of the expected error: what the local component, a constant and the law of a box
        gain is left out.
        """
        center = self.centers[0]
        scaled = noisy / self.deviations - self.seen @ (center - 0.5)
        ratio = self.identity
        shared = None if ratio is None else scaled @ self.parts[0].vectors
        logs = np.empty((len(noisy), len(self.parts), KEPT))
        gains, turned = [], []
        for place, part in enumerate(self.parts):
            turned.append(scaled @ part.vectors if shared is None else shared)
            logs[:, place] = np.log(LINE[part.kind]) - part.logs[:KEPT]
            logs[:, place] -= turned[-1] ** 2 @ (0.5 / part.power[:KEPT]).T
            gains.append(part.gains[:KEPT])
        logs -= logs.max(axis=(1, 2))[:, None, None]
        weights = np.exp(logs, out=logs)
        weights /= weights.sum(axis=(1, 2))[:, None, None]
        means = np.zeros((len(noisy), center.size))
        for place, (part, gain, rotated) in enumerate(zip(self.parts, gains, turned, strict=True)):
            shrunk = weights[:, place] @ gain * rotated
            # Where all parts have the same eigenvectors they are taken back together.
            means += shrunk @ part.back.T if ratio is None else shrunk * (part.values / ratio)
        if ratio is not None:
            means = means @ self.parts[0].vectors.T
        means += center
        return means if self.lift is None else np.asarray(means @ self.lift.T)

    def on_grid(self, curve: Floats) -> Floats:
        """Values on the grid from those at the carrying points."""
        return curve if self.lift is None else np.asarray(self.lift @ curve)


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """The posterior of a mean between bounds, given one noisy outcome. Deterministic.

    noisy: array (M,). What was measured of u - 1/2, in noise deviations.
    """

    model: CurveModel
    noisy: Floats

    @cached_property
    def fits(self) -> list[Fit]:
        """Every component around every centre, the noise being taken as normal; the local one last."""
        center = self.model.centers[0]
        local = self.model.local(self._before[0])
        return self._first + [part.fit(center, False, self._measured(center)) for part in local]

    @cached_property
    def _weights(self) -> list[Floats]:
        """Of each scale of each component, for the line."""
        return weights_of(self.fits, LINE)

    @cached_property
    def _first(self) -> list[Fit]:
        """Components that do not look at the release."""
        centers = [(center, self._measured(center)) for center in self.model.centers]
        near = self.model.prior.near
        shape = len(self.model.parts), near.shape[-1]
        none = np.zeros((len(self.model.parts), 1))
        more = near if near.size and near.shape == shape else none
        usual = log_weights_of_differences(len(none)) if self.model.differs else none
        alike = [
            part.fit(center, place > 0, measured, beside)
            for place, (center, measured) in enumerate(centers)
            for part, beside in zip(self.model.parts, more if place else usual, strict=True)
        ]
        return alike + [part.fit(centers[0][0], False, centers[0][1]) for part in self.model.cycles]

    def _measured(self, center: Floats) -> Floats:
        """What was measured, less what is seen of a centre."""
        return np.asarray(self.noisy - self._seen(center))

    def _seen(self, center: Floats) -> Floats:
        """What is seen of a centre minus 1/2."""
        return np.asarray(self.model.seen @ (center - 0.5))

    @cached_property
    def _before(self) -> tuple[Floats, float]:
        """Mean (N,) and log evidence of the components that do not look at the release."""
        weights, evidence = normalised(log_weights(self._first, LINE, PUBLIC))
        return mixed_mean(self._first, weights), evidence

    @property
    def borrows(self) -> bool:
        """Whether it is of a group whose line may be near to what all others show."""
        return self.model.prior.near.size > 0

    @property
    def nearness(self) -> Floats:
        """Log evidence (P, S) of components around the public curve, against all without one."""
        alone = [fit for fit in self._first if not fit.public]
        before = [replace(fit, evidence=np.zeros(fit.scales.size)) for fit in alone]
        without, usual = (normalised(log_weights(fits, LINE, PUBLIC))[1] for fits in (alone, before))
        return np.array([fit.evidence for fit in self._first if fit.public]) - without + usual

    @cached_property
    def _after(self) -> float:
        """Log evidence with the local one, which does not change what others weigh among each other."""
        return float(np.logaddexp(self._before[1], self._local))

    @cached_property
    def _local(self) -> float:
        """Log evidence of the local component; where there is none it has none."""
        own = self._own
        return normalised(log_weights(own, LINE, PUBLIC))[1] if own else -math.inf

    @property
    def _own(self) -> list[Fit]:
        """The local component."""
        return self.fits[len(self._first) :]

    @cached_property
    def mean(self) -> Floats:
        """Posterior mean (N,) at the carrying points, in shares of the distance between the bounds."""
        mean, constant = self._mixed, self.constant
        if constant is None:
            return mean
        evidence, level = constant
        odds = math.log(CONSTANT * self.noisy.size) + evidence - self._after
        share = (1 + math.tanh(odds / 2)) / 2
        return np.asarray((1 - share) * mean + share * level)

    @property
    def _mixed(self) -> Floats:
        """The same without a constant."""
        noise, local = self.model.noise, self._own
        if self.model.prior.version >= 3 and isinstance(noise, InBox):
            return self._through_box(noise)
        if not local:
            return self._before[0]
        share = math.exp(self._local - self._after)
        return (1 - share) * self._before[0] + share * mixed_mean(local)

    def _through_box(self, noise: InBox) -> Floats:
        """The same under the law of a box: what is seen becomes what normal noise would show for it.

        Components keep the weights that they have under normal noise.
        """
        scale, others = scale_of(noise.sides), noise.sides - self.noisy.size
        return self.led(as_normal([self.linear], scale, others)[0])

    @property
    def linear(self) -> Prior:
        """What a prior that has this mean under normal noise makes of what is seen."""
        cells = self.noisy.size
        left, pulled = np.zeros((cells, cells)), np.zeros(cells)
        for fit, weight in zip(self.fits, self._weights, strict=True):
            if weight.sum() > CONSIDERED:
                part = fit.part.left(weight)
                left += part
                pulled += part @ self._seen(fit.center)
        return Prior(self.noisy, left, pulled)

    def led(self, shown: Floats) -> Floats:
        """The mean (N,) where something else was seen (M,); components keep their weights."""
        moved = [
            fit.moved(shown - self._seen(fit.center)) if weight.sum() > NEGLIGIBLE else fit
            for fit, weight in zip(self.fits, self._weights, strict=True)
        ]
        return mixed_mean(moved, self._weights)

    @one_thread(scipy=False)
    def coefficients(self, analysis: Floats) -> Floats:
        """Coefficients (K,) of the posterior mean, not clipped, minus the middle of the bounds."""
        mean = self.model.on_grid(self.mean)
        return np.asarray(((mean - 0.5) * self.model.prior.width) @ analysis)

    @property
    def constant(self) -> tuple[float, float] | None:
        """Log evidence of a constant, and its level; None where noise is not of a box.

        With half the range h of the levels that the cells show, and a level anywhere between the bounds,
        the evidence is proportional to 2 b exp(-h / b). It is taken relative to the noise's own, whose
        h / b is M on average, where that of normal noise is M / 2: so do the other components count.
        Where the number of units is one coordinate more, the likelihood is (1 + m) exp(-m) for m =
        max_j |y_j - c| / b, and the evidence (2 + h / b) / (M + 1) times that. With k more coordinates,
        of other functions, it is the upper incomplete gamma function of k + 1 at m.
        """
        model = self.model
        noise = model.noise
        if model.prior.version < 2 or not isinstance(noise, InBox):
            return None
        seen = model.seen.sum(axis=1)
        if np.ptp(seen) > ALIKE * seen.max():
            return None
        evidence, level = constant_evidence(self.noisy / seen, 1 / float(seen.mean()), noise.sides)
        return evidence, 0.5 + level

    @property
    def evidence(self) -> float:
        """Log density of the release, up to a constant, under the mixture for the line."""
        return float(self._after - np.log(self.model.deviations).sum())

    @property
    def response(self) -> Floats:
        """Matrix (N, M) from what was measured to the mean, the weights of components being as found."""
        matrix = np.zeros((self.model.times.size, self.noisy.size))
        for fit, weight in zip(self.fits, self._weights, strict=True):
            if weight.sum() > NEGLIGIBLE:
                gains = weight @ fit.part.gains[: fit.scales.size]
                matrix += fit.part.root @ (
                    fit.part.inside.T @ ((fit.part.vectors * gains) @ fit.part.vectors.T)
                )
        return np.asarray(matrix / self.model.deviations)

    @property
    def line(self) -> Floats:
        """The mean, clipped to the bounds."""
        return np.clip(self.mean, 0.0, 1.0)


def interpolation(times: Floats, at: Floats) -> Floats:
    """Matrix (m, N) that takes values at increasing times (N,) to points (m,), linear between times."""
    return np.stack([np.interp(at, times, row) for row in np.eye(times.size)], axis=1)
