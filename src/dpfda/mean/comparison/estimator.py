"""Mean curves of several groups under one budget, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bounds import read_bounds
from dpfda.mean.comparison.plan import (
    ComparisonPlan,
    PooledComparison,
    SharedDesign,
    design_size,
    publish_comparison,
)
from dpfda.mean.pooled import PooledMean
from dpfda.mean.settings import refuse_two_looks
from dpfda.mean.streams import refuse_irregular
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.publication import MeanPlan, Prepared
from dpfda.records import LongCurves
from dpfda.records.containers import Column, cells_in, cells_taken
from dpfda.records.dask_arrays import sample
from dpfda.records.frames import Container, is_dask
from dpfda.releases.function import level_name
from dpfda.spine.arguments import (
    Bounds,
    Columns,
    Functions,
    Labels,
    Noise,
    Number,
    Payer,
    Place,
    Protected,
    Records,
)
from dpfda.spine.choices import check_choices, check_interval, mean_plan, public_size
from dpfda.spine.clusters import total_on_cluster
from dpfda.spine.curves import POINTS, public_basis, read_curves, refuse_pooled
from dpfda.spine.estimator import Estimator
from dpfda.spine.memberships import (
    divisors,
    factors_of,
    level_key,
    names_of_levels,
    parted,
    read_levels,
    unit_keys,
    units_planned,
)
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import Summation, matrix_on


class PrivateComparison(Estimator):
    """Mean curves of disjoint groups, and their differences, under one budget.

    Every group's mean is released with the whole of epsilon, and together they cost epsilon: the data of
    one privacy unit are in one group only (parallel composition). The lines of groups that look alike
    borrow from each other, of what is released. Where only a test is wanted,
    `dpfda.PrivateEqualityTest` finds more.

    Parameters
    ----------
    epsilon, delta, rho, bounds, basis, mechanism
        As in `dpfda.PrivateMean`; the same for all groups.
    levels : sequence of str or numbers, or mapping of sequences, optional
        Names of the groups, public. By default, under replace-one neighbours, those found (of more
        than ten only if they have ten records each on average: else they may name persons); required
        under add/remove, where membership is private. A mapping names columns of labels, each with its
        levels: groups are all combinations, such as ``{"tariff": ["day", "night"], "region": ["north",
        "south"]}``, and ``release["day", "north"]`` is one of them.
    domain, reading, ledger
        As in `dpfda.PrivateMean`.
    unit : str or PrivacyUnit, optional
        As in `dpfda.PrivateMean`. *replace-one*: which unit is in which group, and so the size of every
        group, is public; what is hidden is the data of any one unit, who stays in the same group.
        *add-remove*: one unit more or less, in whichever group; membership and sizes are private. Moving
        a unit from one group to another is one removal and one addition: twice epsilon.

    Attributes
    ----------
    release_ : ReleasedComparison
        The published means by group, and their differences.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Let two neighbouring data sets differ in one unit, of group g. The sums of all other
    groups are the same integers, so their releases have the same law; all noises are independent, so
    the density ratio of all releases together is that of group g alone: epsilon (and delta) of one
    mean. See `dpfda.publication.publish_parallel`. The ledger is charged once.

    The argument needs every unit to be in one group. A unit with records in two is an error; with
    ``invalid="repair"`` it is in the group of its first one, with its records of that group alone, and a
    unit whose group is not among `levels` counts for none: either depends on its own records alone.

    References
    ----------
    McSherry (2009), Theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 60)[:, None]
    >>> comparison = PrivateComparison(epsilon=1.0, bounds=(-1.5, 1.5))
    >>> release = comparison.fit(curves, ["case", "control"] * 30).release_
    >>> release.difference("case", "control")([0.5]).shape
    (1,)
    """

    _takes_labels = True

    _embeds = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        levels: Sequence[object] | Mapping[str, Sequence[object]] | None = None,
        basis: Functions = None,
        mechanism: Noise = "auto",
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release the mean of every group.

        Parameters
        ----------
        X : array (n, m), DataFrame, FDataGrid or LongCurves
            One curve a row, in the units of the data. Private.
        y : array (n,)
            The group of each record (of each observation for LongCurves). Public under replace-one
            neighbours, private under add/remove. The name of a Series says what the groups are. A data
            frame, or mapping, of several columns crosses them.
        groups : array (n,), optional
            Privacy unit of each record, for example the person. Private under add/remove.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable. Nothing was charged and no noise was drawn.
        DataError
            If the data cannot be used, a unit is in two groups, or a group has fewer than two units.
        BudgetError
            If the ledger refuses.
        """
        factors = factors_of(y, self.levels, self.settings.unit.relation)
        names, parts = self.prepare(X, y, groups)
        prepared = dict(zip(names, parts, strict=True))
        self.release_ = publish_comparison(prepared, str(self.mechanism), self._paying(), factors)
        self.n_features_in_ = int(parts[0].plan.basis.grid_points.size)
        return self

    def plan(self, n: int | Mapping[object, int], columns: Columns = POINTS) -> ComparisonPlan:
        """What `fit` would publish, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int or mapping
            Number of units in all, divided evenly among `levels` (two, where none are named); or of
            each group, by name.
        columns : int or array (m,)
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        self._check()
        basis = public_basis(self.settings, self.basis, columns)
        return self._planned(basis, units_planned(n, self.levels), self.settings, expected=True)

    def _planned(
        self,
        basis: Basis,
        units: Mapping[object, int],
        settings: Settings,
        groups: object = None,
        expected: bool = False,
    ) -> ComparisonPlan:
        """The plan for so many units of each group; a private number of them may be expected."""
        sizes = divisors(settings.unit.public_size, list(units))
        refuse_two_looks(self.mechanism, "a comparison")
        # How many units there are is public, or there are divisors.
        public = sizes if settings.unit.private else units.values()
        tuned = design_size(settings.unit.design_size, [size for size in public if size is not None])
        mechanism = SharedDesign(self.mechanism, tuned, len(units))
        bound, parts = read_bounds(self.bounds, settings.reading.standardize), {}
        for (level, count), size in zip(units.items(), sizes, strict=True):
            unit = settings.unit.but(public_size=size)
            parts[level_name(level)] = mean_plan(
                self.asked(), replace(settings, unit=unit), basis, bound,
                public_size(unit, count, settings.reading.invalid), unit.called(groups), mechanism,
                expected_size=count if expected else None,
            )  # fmt: skip
        return ComparisonPlan(parts, str(self.mechanism), settings.unit.design_size).measuring

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledComparison:
        """All groups' sums as several holders make them, whatever each group's size; see `PooledSum`."""
        self._check()
        basis = public_basis(self.settings, self.basis, columns)
        return self._pooled(basis, self.settings, expected=whole(n, "n", 2))

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledComparison:
        """The same on the columns of X."""
        self._check()
        refuse_irregular(X)
        basis = read_curves(self.settings, self.basis, X)[1]
        return self._pooled(basis, self._settings_for(X, groups), groups)

    def _pooled(
        self, basis: Basis, settings: Settings, groups: object = None, expected: int = 0
    ) -> PooledComparison:
        if self.levels is None or isinstance(self.levels, Mapping):
            words = "be given where the records lie in several places, as a list"
            raise ParameterError("levels", words, shown(self.levels), "Name the groups.")
        levels = read_levels(self.levels, [], None, settings.unit.relation)
        names_of_levels(levels)
        expected_size = max(2, expected // len(levels))
        plan = self._planned(basis, dict.fromkeys(levels, expected_size), settings, groups)
        return PooledComparison.of(settings, plan, tuple(map(level_key, levels)))

    def _check(self) -> None:
        check_choices(self)
        remedy = "Release a PrivateMean of each group: who is in one of them alone pays once."
        check_interval(self.basis, "a comparison", remedy)

    def prepare(
        self, X: Records, y: Labels, groups: Labels = None
    ) -> tuple[list[str], list[Prepared[MeanPlan, IntegerSum]]]:
        """Everything before the noise: split, check, embed, clip, round, add up. Private.

        Parameters
        ----------
        X, y, groups
            As in `fit`.

        Returns
        -------
        list of str, list of Prepared
            Names of the groups, and the private sum of each with its plan.
        """
        self._check()
        refuse_two_looks(self.mechanism, "a comparison")
        if is_dask(X):
            X, groups = Container.of(X, groups).apart()
            pool = self.pooled_on(sample(X), groups)
            return list(pool.plan.parts), pool.prepared(total_on_cluster(pool, X, groups, y))
        settings, named = self._settings_for(X, groups), getattr(y, "name", None)
        if isinstance(named, str) and named:
            # What y calls the groups, where no other word is stated: the label of a column.
            words = {"group": named} | dict(settings.domain.labels or {})
            settings = replace(settings, domain=settings.domain.but(labels=words))
        reading, neighbours = settings.reading, settings.unit.relation
        # One basis for all, from the public side of X: it may not depend on who is in a group.
        values, basis, labels = read_curves(settings, self.basis, X, groups)
        if isinstance(values, LongCurves) and values is not X:
            raise DataError(
                "A comparison needs the group of each observation; found irregular curves without. Pass "
                "LongCurves(ids, times, values), and y with one label an observation."
            )
        # By its layout, which is public: else a group with members would be refused, an empty one not.
        refuse_pooled(settings, X)
        if not isinstance(values, LongCurves):
            # Read once, as a whole, record by record: a group's records are rows of it.
            values = matrix_on(values, basis, reading)
        own = unit_keys(X, labels, reading.invalid)
        count = values.times.size if isinstance(values, LongCurves) else len(values)
        names, sizes, rows = parted(y, self.levels, count, own, neighbours, reading.invalid)
        named_units = values.groups if isinstance(values, LongCurves) else labels
        # Under add/remove nobody may be in a group, and that is private.
        counted = {level: count or 2 for level, count in sizes.items()}
        plan = self._planned(basis, counted, settings, named_units)
        sums = [PooledMean(settings, Summation.of(part)) for part in plan.parts.values()]
        parts = []
        with np.errstate(all="ignore"):
            for part_pool, chosen in zip(sums, rows, strict=True):
                total = part_pool.summation.empty()
                try:
                    total = part_pool.total(*_part(values, labels, chosen)) if chosen.any() else total
                except DataError:
                    # Rows of a group have numbers of their own: refused by those of X.
                    if isinstance(values, LongCurves):
                        values.usable(basis.domain_range, reading.invalid)
                    else:
                        part_pool.summation.refuse(values)
                    raise
                parts.append(part_pool.summation.prepared(total))
        return names, parts


def _part(
    values: Cells | LongCurves, groups: object, chosen: Flags
) -> tuple[Cells | LongCurves, Column | None]:
    """The records of one group, and their privacy units."""
    if isinstance(values, LongCurves):
        own = None if values.groups is None else values.groups[chosen]
        return LongCurves(values.ids[chosen], values.times[chosen], values.values[chosen], own), None
    rows = np.flatnonzero(chosen)
    return values[rows], None if groups is None else cells_taken(cells_in(groups, "groups"), rows)
