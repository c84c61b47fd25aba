"""Synthetic curves, as a scikit-learn estimator, and its plan: moments, then counts of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import ClassVar, Self, Unpack

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.noise import gaussian_ratio
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import charge, planner, stamp
from dpfda.publication.moments import LENGTHS_SHARE, MomentsDesign, lengths, shared, split
from dpfda.records import Curves
from dpfda.records.labels import units_of
from dpfda.releases.function import level_name
from dpfda.releases.moments import Moments
from dpfda.sampler.release import (
    BINS,
    COUNT,
    COUNTED,
    EDGES,
    LEFT,
    ReleasedCurveSampler,
    ReleasedCurveSamplers,
    beyond,
    score_axes,
)
from dpfda.spine.arguments import Bounds, Columns, Functions, Labels, Number, Payer, Place, Protected
from dpfda.spine.choices import value_bounds
from dpfda.spine.curves import POINTS, check_in_memory, public_basis, read_matrix
from dpfda.spine.estimator import warn_of_labels
from dpfda.spine.memberships import (
    divided,
    divisors,
    names_of_levels,
    parted,
    read_levels,
    unit_keys,
    units_planned,
)
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import read_block
from dpfda.spine.vectors import Choices, OfVectors, VectorPlan, divisor_for, vectors_of

# Of pure and of normal noise: steps of second moments, share of the budget for counts of scores, and of
# what is left each time for the mean and for lengths.
PURE = 2, Fraction(3, 10), Fraction(1, 3), LENGTHS_SHARE
NORMAL = 4, Fraction(3, 50), Fraction(1, 12), Fraction(1, 24)
# Functions, or directions; with normal noise one for so much of n mu, if that is more, and so many at
# most. Functions are taken to matter less and less, as in `Moments`.
FUNCTIONS, A_FUNCTION, MOST_FUNCTIONS, DECAY = 12, 25, 48, 0.5
# Functions in all: the lengths of what lies in those beyond are counted.
MOST = 200
SCORES = "scores"


@dataclass(frozen=True, eq=False, repr=False)
class SamplerPlan(VectorPlan[ReleasedCurveSampler]):
    """Plan of a sampler of curves."""

    @property
    def error_words(self) -> str:
        return (
            "none is stated: how near synthetic curves are depends on how far curves lie within "
            f"{self.design.size} functions; docs/synthetic_curves.md tells it of real ones"
        )

    @property
    def counted(self) -> int:
        """Number of scores that are counted."""
        return min(COUNTED, self.design.size)

    @property
    def tables(self) -> int:
        """Number of laws that are counted: of scores, and where functions lie beyond, of lengths."""
        return self.counted + (self.basis.eigenvalues.size > self.design.size)

    @property
    def widths(self) -> dict[str, int]:
        """A unit is in one bin of each."""
        return {SCORES: self.tables * self.neighbours.differences(COUNT)}

    @property
    def longest(self) -> dict[str, int]:
        return {SCORES: COUNT}

    @property
    def blocks(self) -> dict[str, tuple[int, ...]]:
        return {SCORES: (1,) * (self.tables * BINS)}

    def drawn(self, vectors: Floats, certificate: Certificate) -> ReleasedCurveSampler:
        moments = self.design.published(vectors[:, : self.design.coordinates], self.size)
        noise = self.laws[SCORES]
        counts = self.scores(vectors, moments).with_noise(noise.draw())
        return ReleasedCurveSampler(
            moments, counts, noise, self.basis, np.stack(self.limits), certificate,
            {**self.about, **stamp()},
        )  # fmt: skip

    def scores(self, vectors: Floats, moments: Moments) -> IntegerSum:
        """Counts of scores in bins, component by component, and of how long what is left of curves is.

        Each unit is in one bin of each. Private.
        """
        deviations, directions = score_axes(moments)
        through = (directions / deviations)[:, : self.counted]
        deviations = vectors - np.pad(moments.centre, (0, vectors.shape[1] - moments.centre.size))
        scores = coefficients(deviations[:, : len(through)], np.asarray(through, dtype=np.float64))
        bins = [*np.searchsorted(EDGES[1:-1], scores).T]
        if self.tables > self.counted:
            left = lengths(coefficients(deviations, beyond(moments, vectors.shape[1])))
            bins.append(np.searchsorted(LEFT[1:-1] * self.design.bounds[0], left))
        counts = [np.bincount(column, minlength=BINS) for column in bins]
        total = IntegerSum(len(counts) * BINS)
        return total.add_totals((np.concatenate(counts) * COUNT).tolist(), len(vectors))


@dataclass(frozen=True, eq=False, repr=False)
class GroupsPlan(SamplerPlan):
    """Plan of the samplers of disjoint groups; what it says of one of them is that of the first.

    samplers: Plan of each group's sampler, by its name: with the whole budget, and equal costs.
    """

    samplers: Mapping[str, SamplerPlan] = field(kw_only=True)

    @classmethod
    def of(cls, samplers: Mapping[str, SamplerPlan]) -> Self:
        """The plan of these groups together."""
        first, *others = samplers.values()
        if any(other.costs() != first.costs() for other in others):
            raise DpfdaError("Groups that one charge is to pay for have different costs.")
        own = {entry.name: getattr(first, entry.name) for entry in fields(first)}
        size = sum(part.size for part in samplers.values())
        about = {**first.about, "summary": "synthetic curves by group"}
        return cls(**own | {"size": size, "about": about, "expected_size": None}, samplers=samplers)

    def remade(self, guarantee: Guarantee, n: int) -> Self:
        """The plan for another guarantee, and n units in all, in the proportions of this one."""
        sizes = divided(n, [part.size for part in self.samplers.values()])
        pairs = zip(self.samplers.items(), sizes, strict=True)
        return self.of({name: part.remade(guarantee, size) for (name, part), size in pairs})

    def entry(self) -> dict[str, object]:
        return super().entry() | {"groups": [*self.samplers], "composition": "parallel"}

    def publish_groups(self, vectors: Sequence[Floats], paying: Paying = NAMED) -> ReleasedCurveSamplers:
        """Charge once, draw for every group, and add.

        A unit is in one group, in either of two neighbouring data sets: the releases of the others have
        the same law, and all noise is independent. The loss of all is that of this one (McSherry 2009,
        Theorem 4).

        vectors: Of each group (units, d). Private; no unit is in two of them.
        """
        certificate = self.certified()
        for part in self.samplers.values():
            part.whole_achieved()
        charge(paying, certificate, self.entry())
        pairs = zip(self.samplers.items(), vectors, strict=True)
        return ReleasedCurveSamplers(
            {name: part.drawn(rows, certificate) for (name, part), rows in pairs}
        )


@planner
def sampler_plan(
    guarantee: Guarantee, count: int, *, settings: Settings, basis: Basis, bound: ValueBounds, unit: str,
    planned: bool = False,
) -> SamplerPlan:  # fmt: skip
    """The plan, checked: whatever can be refused is refused here. Parameters as of `SamplerPlan`.

    count: Number of units, used where it is public or `planned`.
    Raises ParameterError if the basis is not orthonormal, or a private number of units has no
    public size.
    """
    size = divisor_for(settings, count, planned)
    used = basis.truncate(min(MOST, basis.eigenvalues.size))
    leading = min(_functions(guarantee, size), used.eigenvalues.size)
    SymmetricTensorBasis(used.truncate(leading))
    bounds, blocks = (bound.radius_on(used.grid_points, used.weights),), (leading,)
    pure, functions = isinstance(guarantee, PureDP), used.eigenvalues.size
    steps, counts, mean, length = PURE if pure else NORMAL
    seen = None if pure or leading == functions else functions
    part, rest = split(shared(guarantee), counts)
    design = MomentsDesign(
        blocks, bounds, ("curves",), rest, settings.unit.relation, steps, mean, length, DECAY, steps - 1,
        seen,
    )  # fmt: skip
    about = {"summary": "synthetic curves", **settings.said()}
    plan = SamplerPlan(design, {SCORES: part}, guarantee, used, bound, size, unit, about)
    plan.whole_achieved()
    return plan


def _functions(guarantee: Guarantee, size: int) -> int:
    """Number of functions whose second moments are measured."""
    if isinstance(guarantee, PureDP):
        return FUNCTIONS
    return min(max(int(size * gaussian_ratio(guarantee) / A_FUNCTION), FUNCTIONS), MOST_FUNCTIONS)


class PrivateCurveSampler(OfVectors[SamplerPlan]):
    """A sampler of synthetic curves, under differential privacy.

    Synthetic curves are no data of anybody: not for tests of hypotheses, rare curves, or single persons.
    They have the released mean, covariance within twelve functions (with a delta or a rho up to 48
    released directions), laws of six scores, and the length of what is left, as shapeless roughness.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper) or ValueBounds
        Public bounds on the values of a curve, enforced by clipping; synthetic curves keep to them.
    levels : sequence of str or numbers, or mapping of sequences, optional
        Public names of disjoint groups, as in `dpfda.PrivateComparison`: `y` says which each record is
        in, and every group has a sampler, ``release_["case"]``.
    basis, domain, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size (or a mapping, one a group) is needed, which
        sums are divided by.
    reading : Reading, optional
        As in `dpfda.PrivateMean`; what is repaired counts as the middle of the bounds.

    Attributes
    ----------
    release_ : ReleasedCurveSampler
        The sampler: ``release_.sample(1000)``. With `levels` a ReleasedCurveSamplers.
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

    With `levels` every group's sampler has the whole budget, and all together cost it once: a unit is
    in one group, and the numbers of others have the same law (McSherry 2009, Theorem 4). Groups are as
    in `dpfda.PrivateComparison`: who is in which is public under replace-one neighbours alone.

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
    >>> sampler = PrivateCurveSampler(1.0, bounds=(-5, 5), levels=["case", "control"])
    >>> curves, names = sampler.fit(waves, ["case", "control", "control"] * 1000).release_.sample(9)
    >>> curves.shape, names.tolist().count("case")
    ((9, 20), 3)
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
        levels: Sequence[object] | Mapping[str, Sequence[object]] | None = None,
        basis: Functions = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: object, y: Labels = None, groups: Labels = None) -> Self:
        """Publish it.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid
            One curve a row, in the units of the data. Private.
        y : array (n,), optional
            With `levels` the group of each record, as in `dpfda.PrivateComparison`: public under
            replace-one neighbours. Not read without; where there are no `groups` a warning says so.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`; DataError also if a unit is in two groups. Nothing was charged then.
        """
        if self.levels is None:
            warn_of_labels(y, groups)
            return super().fit(X, groups=groups)
        guarantee = self._checked()
        with np.errstate(all="ignore"):
            plan, vectors = self._parted(guarantee, X, y, groups)
            # The declared type is that without groups.
            self.release_ = plan.publish_groups(vectors, self._paying())  # type: ignore[assignment]
        self.n_features_in_ = int(plan.basis.grid_points.size)
        return self

    def _parted(
        self, guarantee: Guarantee, X: object, y: object, groups: object
    ) -> tuple[GroupsPlan, list[Floats]]:
        """The plan, and the vectors of each group. Private."""
        check_in_memory(X)
        settings = self._settings_for(X, groups)
        matrix, basis, groups = read_matrix(settings, self.basis, X, groups)
        invalid, relation = settings.reading.invalid, settings.unit.relation
        own, codes = unit_keys(X, groups, invalid), units_of(groups, len(matrix), invalid)[0]
        _, sizes, rows = parted(y, self.levels, len(matrix), own, relation, invalid)
        # Under add/remove it is private how many there are.
        sizes = dict.fromkeys(sizes, 2) if settings.unit.private else sizes
        plan = self._of_groups(guarantee, basis, sizes, settings, groups)
        curves, vectors = read_block(matrix, basis, settings.reading), []
        for part, chosen in zip(plan.samplers.values(), rows, strict=True):
            persons = None if codes is None else np.unique(codes[chosen], return_inverse=True)[1]
            of_group = Curves(curves.values[chosen], curves.usable[chosen])
            vectors.append(vectors_of(part, of_group, persons))
        return plan, vectors

    def plan(self, n: int | Mapping[object, int], columns: Columns = POINTS) -> SamplerPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int or mapping
            With `levels` in all, divided evenly among them, or of each by name.
        columns
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        if self.levels is None:
            return super().plan(n, columns)  # type: ignore[arg-type]
        units = units_planned(n, self.levels)
        names_of_levels(read_levels([*units], [], None, self.settings.unit.relation))
        basis = public_basis(self.settings, self.basis, columns)
        return self._of_groups(self._checked(), basis, units, self.settings, None, planned=True)

    def _of_groups(
        self, guarantee: Guarantee, basis: Basis, sizes: Mapping[object, int], settings: Settings,
        groups: object, planned: bool = False,
    ) -> GroupsPlan:  # fmt: skip
        """The plan for so many units of each group."""
        bound, parts = value_bounds(self.bounds, self.CALLED), {}
        stated = divisors(settings.unit.public_size, [*sizes])
        for (level, count), size in zip(sizes.items(), stated, strict=True):
            own = replace(settings, unit=settings.unit.but(public_size=size))
            parts[level_name(level)] = sampler_plan(
                guarantee, count, settings=own, basis=basis, bound=bound,
                unit=settings.unit.called(groups), planned=planned,
            )  # fmt: skip
        return GroupsPlan.of(parts)

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> SamplerPlan:
        return sampler_plan(guarantee, count, **choices)
