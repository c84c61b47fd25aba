"""Synthetic curves, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Self, Unpack

import numpy as np

from dpfda.bases import Basis
from dpfda.numerics.arrays import Floats
from dpfda.privacy.guarantees import Guarantee
from dpfda.records import Curves
from dpfda.records.labels import units_of
from dpfda.releases.function import level_name
from dpfda.sampler.plan import GroupsPlan, SamplerPlan, sampler_plan
from dpfda.sampler.release import ReleasedCurveSampler
from dpfda.spine.arguments import Bounds, Columns, Functions, Labels, Number, Payer, Place, Protected
from dpfda.spine.choices import value_bounds
from dpfda.spine.curves import POINTS, check_in_memory, public_basis, read_matrix
from dpfda.spine.estimator import warn_of_labels
from dpfda.spine.memberships import (
    divisors,
    names_of_levels,
    parted,
    read_levels,
    unit_keys,
    units_planned,
)
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import read_block
from dpfda.spine.vectors import Choices, OfVectors, vectors_of


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
            # Type checkers are told of the sampler that there is without groups.
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
