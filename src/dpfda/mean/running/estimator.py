"""A curve a month, and the mean of all months so far, at one price for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.mean.running.months import Month, Months
from dpfda.mean.running.plan import MOST_STEPS, Rows, RunningPlan
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.records.frames import Container
from dpfda.releases.promise import ALL
from dpfda.spine.arguments import Bounds, Columns, Number, Payer, Place, Protected
from dpfda.spine.choices import check_choices, check_count, mean_plan, value_bounds
from dpfda.spine.curves import CLOSE, POINTS, public_basis, read_curves, readable
from dpfda.spine.estimator import Estimator
from dpfda.spine.settings import Reading, Settings


class PrivateRunningMean(Estimator):
    """A mean curve a month, and the mean of all months so far, under one guarantee for all of them.

    The whole price is charged once, when the state is opened. Months may be chosen, and their data may
    come about, knowing what was published before.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`, for all months together.
    bounds : (lower, upper) or ValueBounds
        Public bounds on values, in the units of the data; numbers, or curves on the grid.
    steps : int
        Number of months that are paid for, at most 1,000. Public. Weeks, or any other steps, will do.
    most_months : int, optional
        Number of months that one unit may be in. Public. To be given where a unit is named; a record is
        in one month alone. It is a promise of whoever publishes: a unit that is in more months is
        protected less. With 1 the unit of a "home" is called home-month, with 2 of more months 2-month
        home, and with all of them home: releases of different units are not added up.
    domain, unit, reading, ledger
        As in `dpfda.PrivateMean`; neighbours are "replace-one", and the number of units of every month
        is public.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho for everything that is published in
    all months. Neighbours differ in one unit: in each of at most `most_months` months it is replaced by
    another. Pure epsilon has K-norm noise on each month; (epsilon, delta) and rho may have normal noise
    on sums of months, by a power of the matrix of running sums. Which, public numbers say. Proofs: the
    page on running means.

    References
    ----------
    Denisov, McMahan, Rush, Smith & Thakurta (2022) and Henzinger, Upadhyay & Upadhyay (2023) for the
    factorisation; Choquette-Choo et al. (2023) for units in several steps; Smith & Thakurta (2022) for
    months that depend on what was published.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 200)[:, None]
    >>> running = PrivateRunningMean(1.0, bounds=(-1.5, 1.5), steps=24, domain=(0, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     months = running.open(pathlib.Path(folder) / "means.state")
    ...     january = months.publish(curves)
    ...     february = months.publish(curves)
    ...     months.suspend()
    >>> february.months, february.latest.months, february([0.5, 1.5]).shape
    ((1, 2), (2, 2), (2,))
    """

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        steps: int = 64,
        most_months: int | None = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def open(self, path: str | Path, n: int | None = None, columns: Columns = POINTS) -> Months:
        """Charge for all months, and make the file that keeps what is between them.

        Parameters
        ----------
        path : path
            Where the secret state is kept, on a local disk; there must be no file yet.
        n : int, optional
            Number of units to expect in a month; by default the first month's. Public.
        columns : int or array (m,)
            Where `n` is given: as in `PrivateMean.plan`. By default the columns of the first month.

        Returns
        -------
        Months
            To `publish` one month after the other.

        Raises
        ------
        ParameterError
            If a public parameter is unusable. Nothing was charged.
        BudgetError
            If the ledger refuses.
        StorageError
            If the file exists or cannot be made; nothing was charged.
        """
        self._checked()
        return Months.open(self, path, None if n is None else self.plan(n, columns))

    def resume(self, path: str | Path, moved: bool = False) -> Months:
        """Go on from the file, with the parameters that it was opened with. Nothing is charged.

        Parameters
        ----------
        path : path
        moved : bool
            Say that the file was moved on purpose, and that no other copy of it will be resumed.

        Raises
        ------
        ParameterError
            If the parameters are others.
        SessionError, StorageError
            As of `Session.resume`.
        """
        self._checked()
        return Months.resume(self, path, moved)

    def plan(self, n: int, columns: Columns = POINTS) -> RunningPlan:
        """What would be published of n units a month, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units of a month.
        columns : int or array (m,)
            Number of equally spaced grid points, or the grid, where the domain has none of its own.

        Raises
        ------
        ParameterError
            If a public parameter is unusable.
        """
        self._checked()
        return self.planned(public_basis(self.settings, None, columns), whole(n, "n", 2), self.settings)

    # What the months ask for.

    def planned(self, basis: Basis, n: int, settings: Settings, rows: Rows | None = None) -> RunningPlan:
        """The plan on a basis, for so many units a month; perhaps with rows that were fixed before."""
        monthly = mean_plan(self.asked(), settings, basis, self._bound(), n, self._unit)
        if monthly.curves is None or monthly.on_grid is None or monthly.on_grid.cube is None:
            words = "be at least 3, with bounds that floats can hold, for a running mean"
            raise ParameterError("columns", words, f"{monthly.basis.weights.size}")
        plan = RunningPlan({ALL: monthly}, self.steps, self._most, rows)
        plan.achieved()
        return plan

    def stated(self) -> dict[str, object]:
        """What is public before there is a first month, for the ledger and for the file."""
        settings, bound = self.settings, self._bound()
        return {
            "summary": "a mean curve a month, and their running mean",
            "neighbours": str(settings.unit.relation),
            "privacy_unit": self._unit,
            "bound": bound.describe(),
            "basis": "chosen by the first month",
            "mechanism": "running mean",
            "months": self.steps,
            "months of a unit": self._most,
            "domain": shown(settings.domain.domain_range),
            "reading": shown(settings.reading),
        }

    @property
    def bounded(self) -> Mapping[str, object]:
        """The public bound: its description and its numbers."""
        bound = self._bound()
        return {"description": bound.describe(), **bound.to_json()}

    def month(self, X: object, groups: object, basis: Basis | None) -> Month:
        """The records of a month, read and checked. Private but for its number of units.

        basis: Of the months before; None for the first one.
        """
        container = Container.of(X, groups)
        if container.irregular or container.on_cluster:
            words = "be curves on one grid, in memory, for a running mean"
            raise ParameterError("X", words, type(X).__name__)
        if groups is not None and self.settings.unit.name is None:
            words, remedy = "be named where records have groups", "Example: $unit."
            raise ParameterError("unit", words, "None", remedy, unit="person")
        settings = self._settings_for(container)
        stated = settings.domain.grid_points
        if basis is not None and stated is not None:
            _check_grid(np.asarray(stated), flat_grid(basis))
        values, own, labels = read_curves(settings, basis, container)
        records, count, _ = readable(settings, own, values, labels)
        check_count(settings.unit.relation, count, settings.reading.invalid)
        return Month(records, count, own, settings)

    def _checked(self) -> Guarantee:
        guarantee = check_choices(self)
        settings = self.settings
        if settings.unit.relation is not Neighbours.REPLACE_ONE:
            words = "be 'replace-one' for a running mean, whose months have public numbers of units"
            raise ParameterError("neighbours", words, repr(str(settings.unit.relation)))
        if settings.reading.standardize or settings.reading.missing == "pooled":
            words = "be as they are, or completed, for a running mean"
            raise ParameterError("reading", words, shown(settings.reading))
        whole(self.steps, "steps", 1, MOST_STEPS)
        words = f"be from 1 to the number of months, {self.steps}"
        if self.most_months is None and settings.unit.name is not None:
            remedy = "1: everyone is in one month alone; steps: anyone may be in all of them."
            raise ParameterError(
                "most_months", f"be given where a unit is named, and {words}", "None", remedy
            )
        whole(self._most, "most_months", 1, self.steps, words)
        self._bound()
        return guarantee

    @property
    def _most(self) -> int:
        return 1 if self.most_months is None else self.most_months

    @property
    def _unit(self) -> str:
        """The protected unit in a word: so many months of a person who may not be in all of them."""
        name, most = self.settings.unit.called(None), self._most
        if self.settings.unit.name is None or most == self.steps:
            return name
        return f"{name}-month" if most == 1 else f"{most}-month {name}"

    def _bound(self) -> ValueBounds:
        return value_bounds(self.bounds, "a running mean")


def _check_grid(stated: Floats, earlier: Floats) -> None:
    """Refuse a month on another grid than that of the months before; grids are public."""
    close = CLOSE * float(np.ptp(earlier))
    if stated.size != earlier.size or not np.allclose(stated, earlier, rtol=0, atol=close):
        raise ParameterError("X", "be on the grid of the months before", f"{stated.size} other points")
