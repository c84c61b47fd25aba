"""A reference band of curves as a scikit-learn estimator."""

from __future__ import annotations

from typing import Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import system_bytes
from dpfda.numerics.parameters import probability, whole
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, within
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import MeanPlan, Prepared, charge, publish_curve, stamp
from dpfda.records import Curves, units
from dpfda.records.labels import units_of
from dpfda.reference.plan import ReferencePlan
from dpfda.reference.release import ReleasedReferenceBand
from dpfda.spine.arguments import Bounds, Columns, Labels, Number, Payer, Place, Protected, Records
from dpfda.spine.choices import check_choices, check_count, value_bounds
from dpfda.spine.curves import POINTS, check_in_memory, public_basis, read_matrix
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import Readable, read_block

# Widths are no smaller than about an eighth of the largest one: they are noisy.
FLOOR = 0.15


class PrivateReferenceBand(Estimator):
    """A band within which a share of new people's whole curves lies, under differential privacy.

    Some of the units show where curves lie, and how wide they spread; the others how far the band must
    reach. So its coverage holds for any law of curves and any number of units.

    Parameters
    ----------
    epsilon : number or text
        Privacy loss, positive.
    delta : number or text
        As in `dpfda.PrivateMean`. None is spent.
    bounds : (lower, upper) or ValueBounds
        Public bounds on values, in the units of the data; numbers, or curves on the grid. Values beyond
        count as on them.
    coverage : float
        Share of new units whose whole curve lies in the band, at least, between 0 and 1.
    domain, unit, reading, ledger
        As in `dpfda.PrivateMean`; neighbours are "replace-one", and the number of units is public.

    Attributes
    ----------
    release_ : ReleasedReferenceBand
        The published band: ``lower(t)``, ``upper(t)``, ``contains(curves)``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    **Guarantee.** Pure epsilon, one unit being one record, or all records of one label of `groups`. The
    units are split at random in two, and each part is looked at with all of epsilon: replacing one unit
    changes one part.

    **Coverage.** A new unit that is exchangeable with these lies inside with a probability of at least
    `coverage`, over the units, their split, the noise and the new one; a unit of several records with
    all of them. It is of curves at the grid points, clipped to the bounds, that can be used: under
    ``invalid="repair"`` a unit with another one counts as outside, and of new units that can be used the
    band holds the share all the same, however many cannot. Proofs: the page on reference bands.

    References
    ----------
    Vovk, Gammerman & Shafer (2005) for split conformal prediction; Dwork & Roth (2014), section 3.6, and
    Lyu, Su & Li (2017) for the sparse vector technique, here with noise to one side.

    Examples
    --------
    >>> import numpy as np
    >>> levels = np.random.default_rng(1).normal(size=(2000, 1))
    >>> curves = np.sin(np.linspace(0, 3, 20)) + 0.3 * levels
    >>> made = PrivateReferenceBand(1.0, bounds=(-2, 3), coverage=0.9, domain=(0, 3))
    >>> band = made.fit(curves).release_
    >>> bool(0.85 < band.contains(curves).mean() < 0.97), bool(band.lower(1.5) < 1 < band.upper(1.5))
    (True, True)
    """

    _embeds = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        bounds: Bounds = None,
        coverage: float = 0.9,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release a reference band.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid
            One curve a row, as in `PrivateMean.fit`. Private.
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
            As `PrivateMean.fit`; also if there are too few units for the coverage.
        """
        warn_of_labels(y, groups)
        with np.errstate(all="ignore"):
            prepared = self._prepare(X, groups)
            self.release_ = publish_band(prepared, self._paying())
        self.n_features_in_ = self.release_.grid_points.size
        self._set_feature_names(X, groups)
        return self

    def plan(self, n: int, columns: Columns = POINTS) -> ReferencePlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units.
        columns : int or array (m,)
            Number of equally spaced grid points, or the grid, where the domain has none of its own.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        check_choices(self)
        count = whole(n, "n", 2)
        return self._plan(public_basis(self.settings, None, columns), count, None, self.settings)

    def _prepare(self, X: object, groups: object) -> Prepared[ReferencePlan, UnitCurves]:
        check_choices(self)
        self._bound()
        settings = self._settings_for(X, groups)
        check_in_memory(X)
        matrix, basis, groups = read_matrix(settings, None, X, groups)
        reading = settings.reading
        codes, count = units_of(groups, len(matrix), reading.invalid)
        check_count(settings.unit.relation, count, reading.invalid)
        plan = self._plan(basis, count, groups, settings)
        curves = read_block(matrix, basis, reading)
        lower, upper = plan.bound.curves_on(flat_grid(basis))
        clipped = Curves(np.clip(curves.values, lower, upper), curves.usable)
        return Prepared(plan, UnitCurves(clipped, codes, units(clipped, codes)))

    def _plan(self, basis: Basis, count: int, groups: object, settings: Settings) -> ReferencePlan:
        """The plan, checked."""
        if settings.unit.relation is not Neighbours.REPLACE_ONE:
            words = (
                "be 'replace-one' for a reference band, whose coverage needs a public number of units"
            )
            raise ParameterError("neighbours", words, repr(str(settings.unit.relation)))
        if settings.reading.standardize:
            raise ParameterError("standardize", "be False for a reference band", "True")
        about = {"summary": "reference band", **settings.said()}
        coverage, guarantee = probability(self.coverage, "coverage"), self.asked()
        paid, unit = PureDP(guarantee.epsilon), settings.unit.called(groups)  # type: ignore[union-attr]
        plan = ReferencePlan(basis, self._bound(), coverage, paid, count, unit, about)
        plan.check()
        return plan

    def _bound(self) -> ValueBounds:
        return value_bounds(self.bounds, "a reference band")


class UnitCurves:
    """Curves within the bounds, the units they are of, and the average of each unit. Private.

    codes: array (n,) of int or None. Number of each record's unit.
    averages: One a unit.
    """

    def __init__(self, records: Curves, codes: Integers | None, averages: Curves) -> None:
        self.records, self.codes, self.averages = records, codes, averages

    def first(self, chosen: Integers) -> Curves:
        """The averages of some units."""
        return Curves(self.averages.values[chosen], self.averages.usable[chosen])

    def distances(self, centre: Floats, widths: Floats) -> Floats:
        """Largest distance (units,) of a unit's records from the centre, in widths.

        It is infinite where a unit has a record that cannot be used.
        """
        alone = distances_of(self.records.values, centre, widths)
        alone[~self.records.usable] = np.inf
        if self.codes is None:
            return alone
        largest = np.zeros(self.averages.usable.size)
        np.maximum.at(largest, self.codes, alone)
        return largest


def distances_of(values: Floats, centre: Floats, widths: Floats) -> Floats:
    """Largest distance (n,) of curves from the centre at any point, in widths there."""
    return np.asarray(np.max(np.abs(values - centre) / widths, axis=1))


def random_order(count: int) -> Integers:
    """A permutation of count units, each equally likely: sorted by 64 bits of the system's entropy."""
    while True:
        keys = np.frombuffer(system_bytes(8 * count), dtype=np.uint64)
        order = np.argsort(keys, kind="stable")
        # Where two are equal, which hardly ever happens, the order would favour the earlier one.
        if np.all(np.diff(keys[order]) > 0):
            return order


def publish_band(
    prepared: Prepared[ReferencePlan, UnitCurves], paying: Paying = NAMED
) -> ReleasedReferenceBand:
    """Charge and draw: the released band."""
    plan, curves = prepared.plan, prepared.total
    certificate = plan.certified()
    charge(paying, certificate, plan.entry())
    order = random_order(plan.size)
    chosen = order[: plan.first]
    first = curves.first(chosen)
    grid = flat_grid(plan.basis)
    lower, upper = plan.bound.curves_on(grid)
    total = Readable(first).total(plan.centre)
    mean = publish_curve(total, plan.centre, certificate=plan.centre.certified())
    centre, widths, spent = (
        np.clip(mean(grid), lower, upper),
        np.ones(grid.size),
        [mean.certificate.achieved],
    )
    if plan.follows:
        centre, widths, more = _closer(plan, first, centre)
        spent += more
    candidates = plan.radii(float(distances_of(np.stack([lower, upper]), centre, widths).max()))
    numbers = curves.distances(centre, widths)[order[plan.first :]]
    radius = float(candidates[plan.last.choose(numbers, candidates, plan.threshold)])
    halves = added(spent), plan.last.achieved
    achieved = halves[1] if within(halves[0], halves[1]) else halves[0]
    tuning = {
        **plan.tuning,
        "units for the centre": plan.first,
        "units for the radius": plan.second,
        "threshold": plan.threshold,
        "widths": "follow the spread" if plan.follows else "constant",
    }
    return ReleasedReferenceBand(
        grid, plan.basis.domain_range, centre, widths, radius, plan.coverage, plan.size,
        certificate.fulfilled(achieved, tuning), {**plan.about, **stamp()},
    )  # fmt: skip


def _closer(
    plan: ReferencePlan, first: Curves, centre: Floats
) -> tuple[Floats, Floats, list[Guarantee]]:
    """A closer centre, relative widths with a mean of one, and what they cost: from deviations."""
    grid = flat_grid(plan.basis)

    def published(values: Floats, of: MeanPlan) -> tuple[Floats, Guarantee]:
        curves = Curves(np.where(first.usable[:, None], values, 0.0), np.ones(len(values), dtype=bool))
        mean = publish_curve(Readable(curves).total(of), of, certificate=of.certified())
        return mean(grid), mean.certificate.achieved

    off = np.where(first.usable, np.abs(first.values - centre).max(axis=1), 0.0)
    rough = plan.rough(plan.largest)
    top = float(rough[plan.pilot.choose(off, rough, plan.pilot_threshold)])
    moved, second = published(np.clip(first.values - centre, -top, top), plan.closer(top))
    centre = np.clip(centre + plan.worth(top) * moved, *plan.bound.curves_on(grid))
    line, third = published(np.minimum(np.abs(first.values - centre), top), plan.widths(top))
    line = np.maximum(line, 0.0)
    widths = line + FLOOR * line.max() if line.max() > 0 else np.ones(line.size)
    return centre, widths / widths.mean(), [plan.pilot.achieved, second, third]
