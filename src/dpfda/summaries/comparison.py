"""Mean curves of several groups under one budget, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.errors import DataError, ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication import MeanPlan, Plan, Prepared, publish_parallel
from dpfda.records import LongCurves
from dpfda.records.containers import cells_in, take
from dpfda.records.dask_arrays import is_dask
from dpfda.records.labels import Key, label_key, plain_label, read_keys
from dpfda.releases.comparison import ReleasedComparison
from dpfda.summaries.choices import check_choices
from dpfda.summaries.curves import POINTS, public_basis, read_curves
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.mean import PrivateMean, refuse_pooled
from dpfda.summaries.settings import Domain, Reading
from dpfda.summaries.shared_design import shared_design
from dpfda.summaries.sums import Summation, matrix_on
from dpfda.summaries.two_stage import TwoStages

# Units that noise is tuned for where no group's size is public.
DESIGN_SIZE = 100


@dataclass(frozen=True, eq=False)
class ComparisonPlan(Plan):
    """Plan of the means of disjoint groups, of which each has the whole budget.

    Parameters
    ----------
    parts : mapping
        Plan of each group's mean, by its name.
    mechanism : str
        As it was asked for.
    """

    parts: Mapping[str, MeanPlan]
    mechanism: str

    @property
    def first(self) -> MeanPlan:
        """Of one of the groups: bound, basis and guarantee are the same for all."""
        return next(iter(self.parts.values()))

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        return self.first.guarantee

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        return self.first.neighbours

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.first.unit

    @property
    def bounded(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.first.bounded

    @property
    def about(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {**self.first.about, "summary": "mean curves of groups"}

    @property
    def functions(self) -> str:
        return self.first.functions

    @property
    def tuning(self) -> Mapping[str, Any]:
        return {"name": self.mechanism}

    def entry(self) -> dict[str, Any]:
        return super().entry() | {"groups": list(self.parts), "composition": "parallel"}

    def costs(self) -> dict[str, Cost]:
        return self.first.costs()

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> ComparisonPlan:
        """The plan for another guarantee, and n units in each group."""
        shared = self.first.mechanism
        if shared.size == self.n:
            shared = replace(shared, size=n)
        parts = {
            name: replace(part, mechanism=shared).remade(guarantee, n)
            for name, part in self.parts.items()
        }
        return ComparisonPlan(parts, self.mechanism)

    @property
    def n(self) -> int | None:
        """Of the smallest group."""
        return min((part.n for part in self.parts.values() if part.n), default=None)

    def expected(self, quick: bool = False) -> float | None:
        found = [
            part.expected(quick) for part in {part.n: part for part in self.parts.values()}.values()
        ]
        return max((error for error in found if error is not None), default=None)

    def _sizes(self) -> list[MeanPlan]:
        """One plan of each size of group."""
        return [*{part.n: part for part in self.parts.values()}.values()]

    @property
    def error_words(self) -> str:
        said = self.first.error_words
        return f"of each group's mean, the largest (of a difference up to 1.4 times as much); {said}"

    def half_width(self, level: float) -> float | None:
        found = [part.half_width(level) for part in self._sizes()]
        return max((width for width in found if width is not None), default=None)

    @property
    def scale(self) -> tuple[float, str] | None:
        return self.first.scale

    @property
    def noise_words(self) -> str:
        return self.first.noise_words


class PrivateComparison(Estimator):
    """Mean curves of disjoint groups, and their differences, under one budget.

    Every group's mean is released with the whole of epsilon, and together they cost epsilon: the data of
    one privacy unit are in one group only (parallel composition).

    Parameters
    ----------
    epsilon, delta, rho, bounds, basis, mechanism
        As in `dpfda.PrivateMean`; the same for all groups.
    levels : sequence of str or numbers, optional
        Names of the groups, public. By default, under replace-one neighbours, those found; required
        under add/remove, where membership is private.
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
    ``invalid="repair"`` all of its records count for the group of its first one, and a unit whose group
    is not among `levels` counts for none: either depends on that unit's own records alone.

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

    def __init__(
        self,
        epsilon: float | Fraction | None = None,
        delta: float | Fraction = 0.0,
        *,
        rho: float | Fraction | None = None,
        bounds: Any = None,
        levels: Sequence[Any] | None = None,
        basis: Any = None,
        mechanism: Any = "auto",
        domain: Any = None,
        unit: Any = None,
        reading: Reading | None = None,
        ledger: Any = None,
        **fields: Any,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.levels = levels
        self.basis = basis
        self.mechanism = mechanism
        self.domain = domain
        self.unit = unit
        self.reading = reading
        self.ledger = ledger
        self._take(fields)

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Release the mean of every group.

        Parameters
        ----------
        X : array (n, m), DataFrame, FDataGrid or LongCurves
            One curve a row, in the units of the data. Private.
        y : array (n,)
            The group of each record (of each observation for LongCurves). Public under replace-one
            neighbours, private under add/remove.
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
        names, parts = self.prepare(X, y, groups)
        plan = ComparisonPlan(
            {name: p.plan for name, p in zip(names, parts, strict=True)}, str(self.mechanism)
        )
        pairs = [(part.total, part.plan) for part in parts]
        released = publish_parallel(pairs, plan.entry(), *self.paying())
        self.release_ = ReleasedComparison(dict(zip(names, released, strict=True)))
        self.n_features_in_ = int(plan.first.basis.grid_points.size)
        return self

    def plan(self, n: Any, columns: Any = POINTS) -> ComparisonPlan:
        """What `fit` would publish, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int or mapping
            Number of units of each group: one for all of `levels` (two, where none are named), or by
            name.
        columns : int or array (m,)
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        check_choices(self)
        basis = public_basis(self.settings, self.basis, columns)
        named = n if isinstance(n, Mapping) else dict.fromkeys(self.levels or ("first", "second"), n)
        units = {str(level): whole(size, "n", 2) for level, size in named.items()}
        shared = self._shared([*units.values()])
        size = self.settings.unit.public_size
        sizes = dict(zip(units, _sizes(size, list(named)), strict=True))
        domain = self.settings.domain
        readers = {name: self._reader(sizes[name], shared, basis, domain) for name in units}
        parts = {
            name: reader._plan(basis, units[name], None, reader.settings, units[name])
            for name, reader in readers.items()
        }
        return ComparisonPlan(parts, str(self.mechanism))

    def _shared(self, sizes: list[int]) -> Any:
        if isinstance(self.mechanism, TwoStages):
            raise self.mechanism.refusal("a comparison")
        return shared_design(self.mechanism, self._design_size(sizes))

    def prepare(
        self, X: Any, y: Any, groups: Any = None
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
        check_choices(self)
        if isinstance(self.mechanism, TwoStages):
            raise self.mechanism.refusal("a comparison")
        if is_dask(X):
            return self._prepare_on_cluster(X, y, groups)
        settings = self.settings_for(X, groups)
        reading, neighbours = settings.reading, Neighbours.parse(settings.unit.neighbours)
        # One basis for all, from the public side of X: it may not depend on who is in a group.
        values, basis, groups = read_curves(settings, self.basis, X, groups)
        if isinstance(values, LongCurves) and values is not X:
            raise DataError(
                "A comparison needs the group of each observation; found irregular curves without. Pass "
                "LongCurves(ids, times, values), and y with one label an observation."
            )
        # By its layout, which is public: else a group with members would be refused, an empty one not.
        refuse_pooled(self, X)
        if not isinstance(values, LongCurves):
            # Read once, as a whole, record by record: a group's records are rows of it.
            values = matrix_on(values, basis, reading.missing, reading.invalid)
        count = X.times.size if isinstance(X, LongCurves) else len(values)
        own = _unit_keys(X, groups, reading.invalid)
        memberships = _memberships(y, count, own, reading.invalid)
        levels = _levels(self.levels, memberships, y, neighbours)
        rows = [_rows(memberships, level) for level in levels]
        known = np.any(rows, axis=0)
        if not known.all() and (neighbours is Neighbours.REPLACE_ONE or reading.invalid == "refuse"):
            raise DataError(
                "Every record must be in one of the groups of `levels`; found another label in row "
                f"{int(np.argmin(known))}. Name all groups, or leave records out beforehand."
            )
        names = [str(level) for level in levels]
        if len(set(names)) != len(names):
            raise ParameterError("levels", "have different names", repr(names))
        sizes = _sizes(settings.unit.public_size, levels)
        if neighbours is Neighbours.REPLACE_ONE:
            known_sizes = [_count(chosen, own) for chosen in rows]
        else:
            known_sizes = [size for size in sizes if size is not None]
        mechanism = self._shared(known_sizes)
        parts = []
        for level, chosen, size in zip(levels, rows, sizes, strict=True):
            if neighbours is Neighbours.REPLACE_ONE and not chosen.any():
                raise DataError(f"The group {str(level)!r} must have at least two units; found none.")
            reader = self._reader(size, mechanism, basis, settings.domain)
            if chosen.any():
                parts.append(reader.prepare(*_part(values, groups, chosen)))
            else:
                # Only under add/remove: nobody may be in a group, and that is private.
                parts.append(_empty(reader, X.groups if isinstance(X, LongCurves) else groups))
        return names, parts

    def _prepare_on_cluster(
        self, X: Any, y: Any, groups: Any
    ) -> tuple[list[str], list[Prepared[MeanPlan, IntegerSum]]]:
        from dpfda.summaries.compared_partitions import compared

        if self.levels is None:
            raise ParameterError("levels", "be given for Dask arrays", "None", "Name the groups.")
        if y is None:
            raise DataError("y must hold the group of each record; found None.")
        levels = _levels(self.levels, [], y, Neighbours.parse(self.settings.unit.neighbours))
        return [str(level) for level in levels], compared(self, levels, X, y, groups)

    def _readers(self, levels: Sequence[Any], counts: Sequence[int], X: Any) -> list[PrivateMean]:
        """The mean of each group, for groups of these sizes on the columns of X."""
        settings = self.settings
        basis = read_curves(settings, self.basis, X)[1]
        sizes = _sizes(settings.unit.public_size, list(levels))
        replaced = Neighbours.parse(settings.unit.neighbours) is Neighbours.REPLACE_ONE
        known = [*counts] if replaced else [size for size in sizes if size is not None]
        mechanism = shared_design(self.mechanism, self._design_size(known))
        return [self._reader(size, mechanism, basis, settings.domain) for size in sizes]

    def _design_size(self, sizes: list[int]) -> int:
        size = self.settings.unit.design_size
        return max(1, min(sizes, default=DESIGN_SIZE)) if size is None else size

    def _reader(self, size: int | None, mechanism: Any, basis: Basis, domain: Domain) -> PrivateMean:
        """The mean of one group."""
        return PrivateMean(
            self.epsilon,
            self.delta,
            rho=self.rho,
            bounds=self.bounds,
            basis=basis,
            mechanism=mechanism,
            domain=domain,
            unit=self.settings.unit.but(public_size=size),
            reading=self.reading,
        )

    def __sklearn_tags__(self) -> Any:
        """A label for every record is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _unit_keys(X: Any, groups: Any, invalid: str) -> list[Key] | None:
    """What the privacy unit of each record, or observation, is compared by; None without units."""
    if isinstance(X, LongCurves):
        if groups is not None:
            raise ParameterError("groups", "be part of LongCurves", "a separate argument")
        return read_keys(X.ids if X.groups is None else X.groups, "groups", "repair")
    return None if groups is None else read_keys(groups, "groups", invalid)


def _memberships(y: Any, count: int, own: list[Key] | None, invalid: str) -> list[Key]:
    """What the group of each record is compared by; one group a unit, None where there is none.

    Raises
    ------
    DataError
        If labels are missing, or a unit is in two groups and nothing is to be repaired.
    """
    if y is None:
        raise DataError(
            "y must hold the group of each record: PrivateComparison requires y to be passed, but the "
            "target y is None."
        )
    keys = read_keys(y, "y", "repair")
    if len(keys) != count:
        raise DataError(
            f"y must hold one label a record ({count}); found inconsistent numbers of samples: shape "
            f"({len(keys)},)."
        )
    if own is not None and len(own) != count:
        raise DataError(f"groups must hold one label a record ({count}); found shape ({len(own)},).")
    if invalid == "refuse" and None in keys:
        raise DataError(f"y must have a group for every record; found none in row {keys.index(None)}.")
    if own is None:
        return keys
    first: dict[Key, Key] = {}
    settled = []
    for row, (unit, key) in enumerate(zip(own, keys, strict=True)):
        # Units without a label of their own are one unit, as in `PrivateMean`.
        settled.append(first.setdefault(unit, key))
        if invalid == "refuse" and settled[row] != key:
            raise DataError(
                f"Every unit must be in one group; found a unit in two, at row {row}. Then its data "
                "would be released twice and cost twice. Keep one group a unit, or use "
                "invalid='repair' to count it for the group of its first record."
            )
    return settled


def _levels(
    given: Sequence[Any] | None, memberships: list[Key], y: Any, neighbours: Neighbours
) -> list[Any]:
    if given is not None:
        levels = _declared(given)
    elif neighbours is Neighbours.ADD_REMOVE:
        raise ParameterError(
            "levels",
            "be given under add/remove neighbours",
            "None",
            "Which groups occur is private there; name them from public knowledge.",
        )
    else:
        levels = sorted(_found(memberships, y).values(), key=str)
    keys = [label_key(level) for level in levels]
    if len(levels) < 2 or None in keys or len(set(keys)) != len(levels):
        raise ParameterError(
            "levels",
            "be two or more different groups",
            f"{len(levels)} (n_samples = {len(memberships)})",
            "Compare at least two.",
        )
    return levels


def _declared(given: Any) -> list[Any]:
    """Names of groups as the caller lists them; each can be compared and counted."""
    try:
        if isinstance(given, str | bytes):
            raise TypeError
        levels = list(given)
        set(levels)
    except TypeError:
        words = "be a list of the groups, such as ['a', 'b']"
        raise ParameterError("levels", words, shown(given)) from None
    return levels


def _found(memberships: list[Key], y: Any) -> dict[Key, Any]:
    """The groups that occur: words and numbers in one form for one value, others as they are."""
    found: dict[Key, Any] = {}
    occur = set(memberships)
    for label in cells_in(y, "y"):
        key = label_key(label)
        if key is not None and key in occur and key not in found:
            plain = plain_label(key)
            found[key] = label if plain is None else plain
    return found


def _rows(memberships: list[Key], level: Any) -> NDArray[np.bool_]:
    own = label_key(level)
    return np.array([key == own for key in memberships], dtype=bool)


def _count(chosen: NDArray[np.bool_], own: list[Key] | None) -> int:
    """How many privacy units a group has; public under replace-one neighbours."""
    if own is None:
        return int(chosen.sum())
    return len({unit for unit, inside in zip(own, chosen, strict=True) if inside})


def _sizes(public_size: Any, levels: list[Any]) -> list[Any]:
    if not hasattr(public_size, "keys"):
        return [public_size] * len(levels)
    if set(public_size) != set(levels):
        raise ParameterError("public_size", "have one number a level", f"{len(public_size)} numbers")
    return [public_size[level] for level in levels]


def _empty(reader: PrivateMean, groups: Any) -> Prepared[MeanPlan, IntegerSum]:
    """The plan of a group and a sum of nothing: made from one record that cannot be used."""
    reader.set_params(reading__invalid="repair")
    nothing = np.full((1, reader.basis.weights.size), np.nan)
    # As many integers as a group with records has: not coefficients, where sums over cells get noise.
    summation = Summation.of(reader.prepare(nothing, None if groups is None else ["nobody"]).plan)
    return summation.prepared(summation.empty())


def _part(values: Any, groups: Any, chosen: NDArray[np.bool_]) -> tuple[Any, Any]:
    """The records of one group, and their privacy units."""
    if isinstance(values, LongCurves):
        own = None if values.groups is None else values.groups[chosen]
        return LongCurves(values.ids[chosen], values.times[chosen], values.values[chosen], own), None
    rows = np.flatnonzero(chosen)
    return values[rows], None if groups is None else take(cells_in(groups, "groups"), rows)
