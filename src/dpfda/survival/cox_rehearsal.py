"""What rounds would lead to where follow-ups are as most are: a plan takes them on invented records."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats
from dpfda.survival.cox_rounds import LENGTH_BITS, FollowedUp, Rounds

# Records invented, and times that all rounds are taken: the middle of so many is foretold.
RECORDS, TIMES = 1024, 9


def rehearsed(rounds: Rounds, persons: int, died: float) -> tuple[Floats, Floats]:
    """Variances (d,) of log hazard ratios by noise, and by sampling, that a release would state.

    Parameters
    ----------
    rounds : Rounds
    persons : int
    died : float
        Share of them that have an event; their covariates are spread evenly and change nothing.
    """
    model, invented = rounds.model, _invented(rounds, died)
    first, scale = model.hazards, 2.0**-LENGTH_BITS
    by_noise, by_sampling = [], []
    # Public numbers of a plan, nothing of a release: they are the same for all who ask.
    generator = np.random.default_rng(0)
    for _ in range(TIMES):
        walk = rounds.walked(())
        for _ in range(rounds.count):
            sums = rounds.sums(invented, walk) * (persons / RECORDS)
            noise = generator.normal(scale=rounds.deviation / scale, size=rounds.entries)
            walk.move(np.rint(sums + noise).astype(np.int64).tolist())
        by_noise.append(np.diag(walk.posterior.covariance)[first:])
        by_sampling.append(np.diag(np.linalg.inv(walk.information))[first:])
    return np.median(by_noise, axis=0), np.median(by_sampling, axis=0)


def _invented(rounds: Rounds, died: float) -> FollowedUp:
    """Follow-ups spread evenly over covariates, strata and quantiles of time, at one hazard."""
    model, covariates = rounds.model, rounds.model.terms.covariates
    spread = scipy.stats.qmc.Halton(len(covariates) + 2, scramble=False).random(RECORDS + 1)[1:].T
    columns = [
        2 * row - 1 if each.bounds is not None else (row * each.ends).astype(np.int64)
        for each, row in zip(covariates, spread, strict=False)
    ]
    edges = model.cells.edges
    hazard = -math.log1p(-died) / (edges[-1] - edges[0])
    times = edges[0] - np.log1p(-spread[-1]) / hazard
    ends = np.where(times <= edges[-1], 0, -1)
    strata = (spread[-2] * model.baselines).astype(np.int64)
    levels = np.full(RECORDS, 2**LENGTH_BITS)
    return FollowedUp.of(model, times, ends, columns, strata, levels, np.ones(RECORDS, dtype=np.bool_))
