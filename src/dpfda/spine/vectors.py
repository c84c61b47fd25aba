"""Summaries of one vector of coefficients a unit: how curves become vectors, and what plans share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Self, TypedDict, TypeVar, Unpack

import numpy as np

from dpfda.bases import Basis
from dpfda.bounds import Norm, ValueBounds
from dpfda.noise import NoiseLaw, cost_of, moved_counts
from dpfda.noise.charges import normal_within
from dpfda.noise.gaussian import gaussian_loss
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, added
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import PlanAgain, Prepared, charge, recomputed, said_by
from dpfda.publication.moments import MomentsDesign, Part, part_noise
from dpfda.records import Curves, units
from dpfda.records.labels import units_of
from dpfda.releases.promise import ALL
from dpfda.spine.arguments import Columns, Functions, Labels
from dpfda.spine.choices import check_choices, check_interval, public_size, stated_size, value_bounds
from dpfda.spine.curves import POINTS, check_in_memory, public_basis, read_matrix
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Settings
from dpfda.spine.sums import read_block


class Choices(TypedDict):
    """What a plan takes beside its guarantee and a number of units."""

    settings: Settings
    basis: Basis
    bound: ValueBounds
    unit: str
    planned: bool


def bound_words(lower: Floats, upper: Floats) -> str:
    """What is bounded, in words."""
    return f"curves from {float(lower.min()):g} to {float(upper.max()):g}"


def divisor_for(settings: Settings, count: int, planned: bool) -> int:
    """What sums of vectors are divided by: the public number of units, or the one that is planned."""
    size = stated_size(public_size(settings.unit, count, settings.reading.invalid), "public_size")
    return count if planned else size


# The release that a plan publishes.
Made_co = TypeVar("Made_co", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class VectorPlan(PlanAgain, Generic[Made_co]):
    """Plan of a summary of vectors of coefficients, of which moments are measured first.

    With a delta or a rho all noise is normal. Each stage is, given those before, normal noise on a sum
    that one unit moves by at most w_k of its deviations in length; all together lose no more than one
    normal law with mu^2 = sum_k w_k^2 (Dong, Roth & Su 2022, Theorem 4;
    `dpfda.noise.gaussian.repeated_width` has the proof), and that keeps the guarantee. Stages get shares
    of rho = mu^2 / 2, and there is one charge.

    Parameters
    ----------
    design : MomentsDesign
        Of leading coefficients.
    parts : mapping
        Parts of the budget of what is measured after moments, by name: pure, or of rho.
    whole : Guarantee
    basis : Basis
        With as many functions as are used.
    bound : ValueBounds
    size : int
        Public number of units, or public divisor.
    unit : str
    about : mapping
    """

    design: MomentsDesign
    parts: Mapping[str, Part]
    whole: Guarantee
    basis: Basis
    bound: ValueBounds
    size: int
    unit: str
    about: Mapping[str, object]

    guarantee = said_by("whole")
    neighbours = said_by("design.neighbours")

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Public bounds (m,) on the grid."""
        return self.bound.curves_on(self.basis.grid_points)

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": bound_words(*self.limits)}

    @property
    def functions(self) -> str:
        return self.basis.describe()

    @property
    def tuning(self) -> Mapping[str, object]:
        parts = {**self.design.parts, **self.parts}
        return {"name": "moments", "budget": {name: str(part) for name, part in parts.items()}}

    @property
    def noise_words(self) -> str:
        laws: list[NoiseLaw | SymmetricNoise] = [*self.design.laws.values(), *self.laws.values()]
        return "; ".join(dict.fromkeys(law.describe() for law in laws))

    # What is measured after moments, if there is anything, by name.

    @property
    def widths(self) -> Mapping[str, int]:
        """How far one unit moves it: lengths of blocks, added up."""
        return {}

    @property
    def longest(self) -> Mapping[str, int]:
        """How far one unit moves a block of it at most."""
        return {}

    @property
    def blocks(self) -> Mapping[str, tuple[int, ...]]:
        """Sizes of its blocks."""
        return {}

    @property
    def moved(self) -> dict[str, tuple[Norm, int]]:
        """In what norm, and how far, one unit moves it, for its noise.

        The loss of pure noise is the sum over blocks of lengths of differences over the scale. That sum
        takes the place of the l1 norm, in which a block is one number.
        """
        joint = self.design.joint
        return {
            name: moved_counts(width, self.longest[name], joint) for name, width in self.widths.items()
        }

    @cached_property
    def laws(self) -> dict[str, NoiseLaw]:
        """Noise on it, of one scale: pure noise of each block in the l2 norm, or normal noise."""
        return {
            name: part_noise(sizes, *self.moved[name], self.parts[name])
            for name, sizes in self.blocks.items()
        }

    @cached_property
    def achieved(self) -> dict[str, Guarantee]:
        """What it gives, by the integer scales in force."""
        return {
            name: recomputed(law, *self.moved[name], self.parts[name]) for name, law in self.laws.items()
        }

    def costs(self) -> dict[str, Cost]:
        if self.design.joint:
            return {ALL: Cost(self.whole, gaussian_loss(self.whole))}
        own = {n: cost_of(law, self.achieved[n], self.parts[n]) for n, law in self.laws.items()}
        return {**self.design.costs(), **own}

    def whole_achieved(self) -> Guarantee:
        """What all stages give together; checked."""
        return normal_within(added([self.design.whole(), *self.achieved.values()]), self.whole)

    def publish(self, vectors: Floats, paying: Paying = NAMED) -> Made_co:
        """Charge, draw, add. The vectors (units, F) are private."""
        certificate, achieved = self.certified(), self.whole_achieved()
        charge(paying, certificate, self.entry())
        return self.drawn(vectors, certificate.fulfilled(achieved))

    @abstractmethod
    def drawn(self, vectors: Floats, certificate: Certificate) -> Made_co:
        """Draw and add. The ledger has been charged for the certificate."""


Planned = TypeVar("Planned", bound=PlanAgain)


class OfCurves(Estimator, Generic[Planned]):
    """Base of the estimators of summaries of curves between bounds; not for use by itself."""

    release_: object
    bounds: object
    basis: Functions = None
    # What is published, in refusals.
    CALLED: ClassVar[str]

    def plan(self, n: int, columns: Columns = POINTS) -> Planned:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n, columns
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        guarantee = self._checked()
        whole(n, "n", 2)
        return self._plan(guarantee, public_basis(self.settings, self.basis, columns), n, None, True)

    def _plan(
        self, guarantee: Guarantee, basis: Basis, count: int, groups: object, planned: bool = False
    ) -> Planned:
        bound, settings = value_bounds(self.bounds, self.CALLED), self.settings
        return self._planned(
            guarantee, count, settings=settings, basis=basis, bound=bound,
            unit=settings.unit.called(groups), planned=planned,
        )  # fmt: skip

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> Planned:
        """The plan of this summary."""
        raise NotImplementedError

    def _checked(self) -> Guarantee:
        guarantee, reading = check_choices(self), self.settings.reading
        check_interval(self.basis, self.CALLED, "Give curves on an interval.")
        if reading.standardize or reading.missing == "pooled":
            words = f"have $missing, and no standardize, for {self.CALLED}"
            raise ParameterError("reading", words, shown(reading), missing=("refuse", "complete"))
        value_bounds(self.bounds, self.CALLED)
        return guarantee


OfWhich = TypeVar("OfWhich", bound=VectorPlan[object])


class OfVectors(OfCurves[OfWhich]):
    """Base of the estimators of summaries of one vector a unit; not for use by itself."""

    def fit(self, X: object, y: Labels = None, groups: Labels = None) -> Self:
        """Publish it.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid
            One curve a row, in the units of the data. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        warn_of_labels(y, groups)
        guarantee = self._checked()
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            prepared = self._prepare(guarantee, X, groups)
            self.release_ = prepared.plan.publish(prepared.total, self._paying())
        self.n_features_in_ = int(prepared.plan.basis.grid_points.size)
        return self

    def _prepare(self, guarantee: Guarantee, X: object, groups: object) -> Prepared[OfWhich, Floats]:
        check_in_memory(X)
        settings = self._settings_for(X, groups)
        matrix, basis, groups = read_matrix(settings, self.basis, X, groups)
        codes, count = units_of(groups, len(matrix), settings.reading.invalid)
        plan = self._plan(guarantee, basis, count, groups)
        return Prepared(plan, vectors_of(plan, read_block(matrix, basis, settings.reading), codes))


def vectors_of(plan: VectorPlan[object], curves: Curves, codes: Integers | None) -> Floats:
    """Coefficients (units, F) of clipped curves about the middle of their bounds. Private."""
    lower, upper = plan.limits
    middle = np.clip(curves.values, lower, upper) - (lower + upper) / 2
    joined = units(Curves(middle, curves.usable), codes)
    return np.where(joined.usable[:, None], coefficients(joined.values, plan.basis.analysis), 0.0)
