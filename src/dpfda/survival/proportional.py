"""Proportional hazards on public cells of time: parameters, priors and the estimate. Public.

The hazard of a record with terms z in stratum s is exp(a_sj + b'z) in cell j of time, a piecewise
constant baseline times a factor that does not change. With exposures e_j in [0, 1], the shares of the
cells that its follow-up covers, and d_j = 1 where it ends with an event in cell j, its log likelihood is

    sum_j d_j (a_sj + b'z) - e_j exp(a_sj + b'z),

so that its part in the gradient is r_j = d_j - e_j exp(a_sj + b'z) for a_sj and z sum_j r_j for b: the
likelihood of all is a sum over records, where Cox's partial likelihood, with its risk sets, is none.

**Estimate.** What is released are gradients G at public parameters, with normal noise or noise that is
taken as normal, of covariance V. With information K there, K (theta - at) is the gradient without noise,
to first order; so each is an observation of K theta of deviation V^(1/2), and normal priors on a and b
with all observations give a normal posterior: precision P = P_0 + sum K' V^-1 K. It is the estimate
without noise, given what was released, and shrinks where the noise says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.corners import Covariate, Covariates
from dpfda.bases.grids import frozen
from dpfda.bases.lifetimes import LifeCells
from dpfda.numerics.arrays import Floats

# Deviations, before anything is released, of a log hazard about that of all cells, and of the log of a
# hazard ratio over half the range of a number or for a level.
HAZARD_SPREAD, EFFECT_SPREAD = 0.8, 0.7
# Log hazards of a cell, and what b'z is cut at, in every record and every estimate.
LEAST, MOST, REACH = -12.0, 4.0, 4.0
# Of files. Before the third rounds were at places by another information (`Model.information`); before
# the fourth a single number had other parts in a table (`Combinations`); before the sixth rounds had
# terms in units of their bounds (`Walk`).
VERSION = 6
# For intervals effects may be so many times as large as priors foresee; an interval allows for
# so many times what these do.
LOOSE, FORESEEN = 4.0, 3.0
# One estimate moves no parameter by more.
FARTHEST = 1.0
# Ends of the least eigenvalue of the information, in units of its diagonal.
LEAST_SHARES = 1e-4, 0.1


@dataclass(frozen=True)
class Model:
    """What hazards are a product of. Public.

    Parameters
    ----------
    cells : LifeCells
        Of time; the baseline is constant in each.
    terms : Covariates
        Those with a hazard ratio.
    strata : tuple of Covariate
        With levels: each combination has a baseline of its own.
    """

    cells: LifeCells
    terms: Covariates
    strata: tuple[Covariate, ...] = ()

    @property
    def effects(self) -> int:
        """Number d of log hazard ratios."""
        return len(self.terms.terms) - 1

    @property
    def baselines(self) -> int:
        """Number S of strata, at least one."""
        return int(np.prod([stratum.ends for stratum in self.strata], dtype=np.int64))

    @property
    def hazards(self) -> int:
        """Number of log hazards of the baselines."""
        return self.baselines * self.cells.count

    @property
    def parameters(self) -> int:
        """Number of all parameters, the effects last."""
        return self.hazards + self.effects

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Means (d,) and mean products (d, d) of terms spread evenly: taken before any is seen."""
        covariates = self.terms.covariates
        of = np.repeat(np.arange(len(covariates)), [len(term.terms) for term in covariates])
        means = np.array([0.0 if term.bounds else 1 / term.ends for term in covariates])[of]
        # Two levels of one covariate are never seen together.
        own = np.diag(np.where(means > 0, means, 1 / 3))
        products = np.where(np.equal.outer(of, of), own, np.multiply.outer(means, means))
        return frozen(means), frozen(products)

    def stratum(self, levels: dict[str, str]) -> int:
        """Place of the stratum of stated levels; the first level where one is not stated."""
        place = 0
        for stratum in self.strata:
            level = levels.get(stratum.name, stratum.levels[0])
            place = place * stratum.ends + stratum.levels.index(level)
        return place

    def information(
        self, expected: Floats, cross: Floats, products: Floats, deviation: Floats,
        raised: float = 0.0, even: bool = True,
    ) -> Floats:  # fmt: skip
        """Information (P, P) from noisy sums, drawn towards even covariates where these say little.

        Parameters
        ----------
        expected : array (S J,)
            Expected events of the cells.
        cross : array (S J, d)
            The same times terms.
        products : array (d, d)
            Expected events times products of terms, over all cells.
        deviation : array (3,)
            Of the noise in each of the three.
        raised : float
            To how many deviations of noise eigenvalues are raised; infinite for rounds before the third
            version, which took mean terms for even ones.
        even : bool
            Whether they are drawn towards even covariates.
        """
        first, second = self.moments
        sums = np.maximum(expected, deviation[0] / 3 + 1e-6)
        total = float(sums.sum())

        def drawn(seen: Floats, usual: Floats, size: Floats, noise: float) -> Floats:
            return np.asarray(usual + (seen - usual) * size**2 / (size**2 + even * noise**2))

        roots = np.sqrt(np.diag(second))
        noise = deviation[1] * len(sums) ** 0.5
        if np.isfinite(raised):
            first = drawn(cross.sum(axis=0), total * first, total * roots, noise) / total
        cross = drawn(
            cross, np.multiply.outer(sums, first), np.multiply.outer(sums, roots), deviation[1]
        )
        products = drawn(products, total * second, total * np.multiply.outer(roots, roots), deviation[2])
        matrix = np.block([[np.diag(sums), cross], [cross.T, (products + products.T) / 2]])
        scale = np.concatenate([np.sqrt(sums), np.sqrt(total) * roots])
        values, vectors = np.linalg.eigh(matrix / np.multiply.outer(scale, scale))
        # Terms that are nearly collinear say little, and no more may be claimed.
        noise = raised * (noise / roots.min() + deviation[2] / roots.min() ** 2) / total
        least = float(np.clip(noise, *LEAST_SHARES))
        safe = (vectors * np.maximum(values, least)) @ vectors.T
        return np.asarray(safe * np.multiply.outer(scale, scale))

    def start(
        self,
        events: Floats,
        exposed: Floats,
        deviations: tuple[float, float],
        mean: Floats | None = None,
    ) -> Posterior:
        """Priors around the hazard of a noisy life table, which is also where to begin, without effects.

        Parameters
        ----------
        events, exposed : array (S J,)
            Noisy numbers of events, and sums of exposures.
        deviations : (float, float)
            Of the noise in each number of either.
        mean : array (d,), optional
            Of the terms of a usual record; by default of terms spread evenly.
        """
        count, (seen, spent) = events.size, deviations
        together = max(float(events.sum()), seen * count**0.5, 1e-3)
        rate = together / max(float(exposed.sum()), spent * count**0.5, 1.0)
        middle = float(np.clip(np.log(rate), LEAST, MOST))
        expected = np.maximum(exposed, spent) * rate
        noise = expected**2 / (seen**2 + (rate * spent) ** 2 + 1e-9)
        before = HAZARD_SPREAD**-2
        moved = noise / (noise + before) * (events - exposed * rate) / expected
        hazards = middle + np.clip(moved, -FARTHEST, FARTHEST)
        # Of a record with mean terms: at none of them the hazard may be another.
        form = np.hstack([np.eye(count), np.tile(self.moments[0] if mean is None else mean, (count, 1))])
        precision = before * form.T @ form
        precision[count:, count:] += np.eye(self.effects) * EFFECT_SPREAD**-2
        weighted = before * middle * form.sum(axis=0)
        return Posterior(np.concatenate([hazards, np.zeros(self.effects)]), precision, weighted)


@dataclass(frozen=True, eq=False)
class Posterior:
    """A normal law of the parameters, given what was released.

    Parameters
    ----------
    at : array (P,)
        Where the next gradient is taken: near its mean.
    precision : array (P, P)
    weighted : array (P,)
        The precision times the mean.
    """

    at: Floats
    precision: Floats
    weighted: Floats

    def seen(self, at: Floats, gradient: Floats, information: Floats, noise: Floats) -> Posterior:
        """The law after a gradient at a place, with noise of covariance (P, P)."""
        carried = np.linalg.solve(noise, information).T
        precision = self.precision + carried @ information
        weighted = self.weighted + carried @ (information @ at + gradient)
        step = np.clip(np.linalg.solve(precision, weighted) - at, -FARTHEST, FARTHEST)
        return Posterior(at + step, precision, weighted)

    def loosened(self, effects: int) -> Posterior:
        """The law under a prior of effects that is `LOOSE` times as wide."""
        precision = self.precision.copy()
        rows = slice(len(precision) - effects, None)
        precision[rows, rows] -= np.eye(effects) * EFFECT_SPREAD**-2 * (1 - LOOSE**-2)
        return Posterior(self.at, precision, self.weighted)

    def sampling(self, before: Posterior, information: Floats) -> Floats:
        """Covariance (P, P) that sampling adds to the mean: little where priors decide it."""
        left = np.eye(len(information)) - self.covariance @ before.precision
        return np.asarray(left @ np.linalg.solve(information, left.T))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance (P, P) of the parameters without noise."""
        return frozen(np.asarray(np.linalg.inv(self.precision), dtype=np.float64))


def around(
    model: Model, at: Floats, laws: Sequence[tuple[Posterior, Floats, Floats]], start: Posterior
) -> tuple[Posterior, Floats]:
    """The law of the parameters around an estimate, and what sampling adds to its covariance (P, P).

    A mean over what the information may be: one that noise makes too large would take the estimate for
    surer than it is. A ratio that is large for its prior is drawn towards one whatever the noise is, so
    that squared distances are those of laws under looser priors, and no more than these foresee.

    Parameters
    ----------
    model : Model
    at : array (P,)
    laws : sequence of (Posterior, array (P, P), array (P, k))
        Of each information that may be: the law, what sampling is by, and what gradients may lack.
    start : Posterior
        The priors.
    """
    before, own = start.loosened(model.effects), slice(model.hazards, None)
    covariance, added = np.zeros((2, at.size, at.size))

    def capped(squares: Floats, most: Floats | float) -> Floats:
        shares = np.ones(at.size)
        shares[own] = np.minimum(1.0, most / np.sqrt(np.maximum(np.diag(squares)[own], most**2)))
        return squares * np.multiply.outer(shares, shares)

    for law, information, lacking in laws:
        loose = law.loosened(model.effects)
        off = loose.covariance @ loose.weighted - at
        covariance += loose.covariance + np.multiply.outer(off, off)
        led = np.linalg.solve(information + before.precision, lacking)
        added += loose.sampling(before, information) + capped(
            led @ led.T, np.maximum(EFFECT_SPREAD, np.abs(at[own]))
        )
    covariance = capped(covariance / len(laws), FORESEEN * EFFECT_SPREAD)
    precision = np.asarray(np.linalg.inv(covariance))
    return Posterior(at, precision, precision @ at), added / len(laws)
