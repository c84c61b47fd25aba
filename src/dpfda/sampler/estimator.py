"""Synthetic curves, as a scikit-learn estimator."""

from __future__ import annotations

from typing import ClassVar, Unpack

from dpfda.privacy.guarantees import Guarantee
from dpfda.sampler.plan import SamplerPlan, sampler_plan
from dpfda.sampler.release import ReleasedCurveSampler
from dpfda.spine.arguments import Bounds, Functions, Number, Payer, Place, Protected
from dpfda.spine.settings import Reading
from dpfda.spine.vectors import Choices, OfVectors


class PrivateCurveSampler(OfVectors[SamplerPlan]):
    """A sampler of synthetic curves, under differential privacy.

    Synthetic curves are no data of anybody: not for tests of hypotheses, rare curves, or single persons.
    They have the released mean, covariance within public functions (twelve; with a delta or a rho up to
    48), laws of six scores, and the length of what is left, as roughness without a shape.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper) or ValueBounds
        Public bounds on the values of a curve, enforced by clipping; synthetic curves keep to them.
    basis, domain, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, which sums are divided by.
    reading : Reading, optional
        As in `dpfda.PrivateMean`; an unusable record that is repaired counts as the middle of the
        bounds.

    Attributes
    ----------
    release_ : ReleasedCurveSampler
        The sampler: ``release_.sample(1000)``.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon, (epsilon, delta) or rho for the sampler and all that is drawn from it,
    one unit being one record, or the average of all records of one label of `groups`; another in its
    place, or one more or less. Moments are those of `dpfda.PrivateScalarOnFunction`; a unit is in one
    bin of each of J scores and one of lengths, so counts move by 2 J + 2 (or J + 1) in l1, and by the
    root of that in l2. Shares of a pure epsilon add up. With a delta or a rho all noise is normal, and
    all stages lose no more than one normal law, whose mu^2 is the sum of theirs. Parameters are public;
    `X` and `groups` are private.

    References
    ----------
    Biswas, Dong, Kamath & Ullman (2020) for second moments in steps; Dong, Roth & Su (2022) for what
    normal noise loses together; Ramsay & Silverman (2005), chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> waves = np.random.default_rng(1).normal(size=(3000, 1)) * np.sin(np.linspace(0, 3, 20))
    >>> release = PrivateCurveSampler(1.0, bounds=(-5, 5)).fit(waves).release_
    >>> release.sample(1000).shape
    (1000, 20)
    """

    release_: ReleasedCurveSampler
    CALLED: ClassVar[str] = "synthetic curves"

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        basis: Functions = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> SamplerPlan:
        return sampler_plan(guarantee, count, **choices)
