"""A covariance around a public center as one exact sum, wherever its units are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from dpfda.bases.protocol import Functions
from dpfda.covariance.deviations import outer_sum
from dpfda.covariance.plan import CovariancePlan
from dpfda.covariance.publish import Stage, release_covariance, released_count
from dpfda.covariance.release import ReleasedCovariance
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import InPython, ParameterError
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import charge
from dpfda.publication.shares import PRIVATE, SharedLaw, Sharing, counted
from dpfda.records import Curves, units
from dpfda.releases.base import Release
from dpfda.releases.counts import NoisyCount
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.curves import read_curves, unit_curves
from dpfda.spine.pooled import PooledSum, Rows, Size
from dpfda.spine.settings import Settings

# A public center that deviations are bounded around.
CENTER = InPython("center=Center(curve, radius=length)")


@dataclass(frozen=True, eq=False)
class PooledCovariance(PooledSum):
    """A covariance around a public center as a sum: of the products of a unit's coefficients.

    Parameters
    ----------
    settings : Settings
    plan : CovariancePlan
        On the columns of all holders, for any number of units.
    seen : callable
        What is told of the released covariance: post-processing.
    """

    settings: Settings
    plan: CovariancePlan
    seen: Callable[[ReleasedCovariance], Release]

    @classmethod
    def of(
        cls,
        settings: Settings,
        plan: CovariancePlan,
        seen: Callable[[ReleasedCovariance], Release] = lambda release: release,
    ) -> PooledCovariance:
        """With a check that what is summed follows from public numbers.

        Raises
        ------
        ParameterError
            If the center is released first, units are paired, or the radius is chosen from counts.
        """
        words = "be public where the records lie in several places"
        if plan.subspace is not None:
            words = "be a law of noise where the records lie in several places"
            raise ParameterError("mechanism", words, "'exponential'")
        if plan.center is None or plan.about["center"] == "pairs":
            remedy = "Pass $center, or 'bound' for the middle of the bounds."
            raise ParameterError("center", words, repr(plan.about["center"]), remedy, center=CENTER)
        if plan.choice is not None:
            raise ParameterError("radius", words, "'private'", "Pass $center.", center=CENTER)
        return cls(settings, plan, seen)

    @property
    def stated_basis(self) -> Functions | None:
        return self.plan.basis

    @cached_property
    def functions(self) -> int:
        """As many functions as any law may have that is drawn from, whatever the number of units."""
        return max(law.size for law in self.plan.laws)

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return self.functions * (self.functions + 1) // 2

    @property
    def largest(self) -> int:  # type: ignore[override]
        return int(self.plan.ball.radius) ** 2

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        plan = self.plan
        center = np.asarray(plan.center, dtype="<f8").tobytes().hex()
        made = [self.functions, repr(plan.ball), center, plan.bounded.get("records")]
        return {"reading": self.settings.reading.rules, "integers": [*made, plan.basis.to_json()]}

    def read(self, X: Records, y: Beside = None) -> Rows:
        basis = self.plan.basis
        curves = unit_curves(self.settings, basis, read_curves(self.settings, basis, X)[0], None)[0]
        return curves.values, curves.usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        curves = units(Curves(*rows), codes)
        return outer_sum(curves, self._stage(1.0, self.plan), self.functions).triangle()

    def publish(self, total: IntegerSum, ledger: object = None) -> Any:
        plan = self.plan
        if plan.neighbours is Neighbours.REPLACE_ONE:
            plan = plan.remade(plan.guarantee, total.count_with_noise(0, 1))
        certificate = plan.certified()
        charge(read_ledger(ledger), certificate, plan.entry())
        noise = plan.count_noise
        divisor = float(plan.size or 1) if noise is None else released_count(total, noise)
        return self.seen(release_covariance(total, self._stage(divisor, plan), certificate))

    @property
    def sharing(self) -> Sharing:
        plan = self.plan
        if plan.size is None:
            raise ParameterError("noise", *PRIVATE)
        noise = plan.noise(plan.size)
        return Sharing(plan, noise, "l2", plan.difference(noise), plan.shares.rest)

    def publish_shared(self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object) -> Release:
        _, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        plan = replace(self.plan, about=counted(self.plan.about, size))
        stage = self._stage(float(size or plan.size or 1), plan)
        noise = cast("SymmetricNoise", law)
        return self.seen(release_covariance(total, stage, certificate, noise))

    def _stage(self, divisor: float | NoisyCount, plan: CovariancePlan) -> Stage:
        return Stage(plan, divisor, np.asarray(plan.center), None)
