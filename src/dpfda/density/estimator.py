"""The density of points or of counts, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dpfda.bases.cells import CellGrid, box_domain
from dpfda.density.kernel import DensityKernel
from dpfda.density.plan import DensityPlan, density_plan, publish_density
from dpfda.density.pooled import PooledDensity
from dpfda.estimates.histospline import check_smoothing
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, shown, whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.records.dask_arrays import rows_of
from dpfda.records.frames import Container, is_dask
from dpfda.records.labels import units_of
from dpfda.records.points import PlacedPoints, points_from_array, whole_counts
from dpfda.records.weights import Weights, check_weights, usual_total, whole_weights
from dpfda.spine.arguments import (
    AxisScale,
    Columns,
    Edges,
    Labels,
    Noise,
    Number,
    Payer,
    Place,
    Protected,
    Records,
)
from dpfda.spine.choices import check_choices
from dpfda.spine.clusters import total_on_cluster
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Reading


class PrivateDensity(Estimator):
    """Probability density on an interval, a rectangle or a box, under differential privacy.

    Noise is added to the numbers of persons in public cells; the rest is made of the noisy counts.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    domain : (a, b), one to three pairs (a, b), or Domain
        Public ends of the domain, in the units of the data; with words in a `dpfda.Domain`. No default:
        the span of the data is private. Points outside go to the nearest cell. With step=1 for ages in
        whole years, say, cells lie around whole values, whose probabilities are released. With
        atoms=[0], for values that many have exactly, each of these gets a count of its own.
    mechanism : "histogram", "kernel" or DensityKernel
        Noise on counts, or the papers' kernel estimate.
    cells : int or sequence of d int, optional
        Number of cells along each axis; by default that of least expected error, from public numbers.
    noise : {"auto", "laplace", "gaussian"}
        On the counts; "auto" takes the one of least variance, nearly always Laplace without a delta.
    scale : "auto", "linear", "log", "zoom", array or callable
        On an interval: what cells are equal on. "linear": the domain itself. "log", public points of the
        axis between two of which lie equally many cells, or a public increasing function: no cost.
        "zoom": even around where most units are, an interval chosen privately for a part of epsilon, and
        logarithmic far from it; by default where n epsilon is at least 500 and cells are not given.
    bandwidth : "adaptive", "monotone" or float, optional
        How the noisy counts are smoothed: by weights found from these; so, and then monotone through the
        cells' shares (for tables and steps); or with a public deviation, in the units of the axes.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, unless `cells` is given.
    reading : Reading, optional
        Whether unusable points are refused, or left out: `dpfda.Reading`.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn, as in `dpfda.PrivateMean`.

    Attributes
    ----------
    release_ : ReleasedDensity
        The published density.
    n_features_in_ : int

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, one unit being one point, or all
    points of one label of `groups`, whose shares of the cells are at most one in all, or one person
    counted in a table. Laplace noise of scale 2 / epsilon persons (1 / epsilon under add/remove) on each
    cell gives pure epsilon, however many cells there are. Proofs, also of the zoom and the kernel
    estimate, are on the page on densities. `X`, `counts` and `groups` are private.

    References
    ----------
    Dwork, McSherry, Nissim & Smith (2006), example 3: histograms. Lin & Reimherr (2023), section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(60, 15, size=3000)
    >>> density = PrivateDensity(epsilon=1, domain=(0, 100), unit="person").fit(ages)
    >>> density.release_([20.0, 60.0]).shape
    (2,)
    """

    _stepped = _atomic = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        mechanism: Noise = "histogram",
        cells: int | Sequence[int] | None = None,
        scale: AxisScale = "auto",
        noise: str = "auto",
        bandwidth: str | float | None = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(
        self, X: Records, y: Labels = None, groups: Labels = None, weights: Weights | None = None
    ) -> Self:
        """Release the density of points.

        Parameters
        ----------
        X : array (n, d), or (n,) on an interval
            One point a row, in the units of the domain. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,), optional
            Privacy unit of each point, for example the person: each counts as one, spread over its
            points. Private.
        weights : Weights, optional
            Survey weights of the points (`dpfda.records.weights`): each counts as its weight over the
            largest, and what is released is divided by their noisy sum. Private.

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
        return self._publish(self.prepare(X, groups, weights))

    def fit_counts(self, counts: object, edges: Edges, multiplier: int = 1) -> Self:
        """Release the density of people who were counted in public cells.

        Parameters
        ----------
        counts : array (m,) or (m_1, .., m_d)
            Number of people in each cell: every person in one cell, once. Private.
        edges : array (m + 1,), or tuple of d arrays
            Public ends of the cells, in the units of the axis; on a box equally spaced.
        multiplier : int
            What one in the table stands for: 1000 for a table in thousands. Each number is taken as its
            decimal digits, so 4612.439 thousand are exactly 4612439 people; what is not whole then is
            refused (or, under invalid="repair", rounded to the nearest).

        Returns
        -------
        self
            With `release_`, on the domain from the first to the last edge.

        Notes
        -----
        One person more or less must change the table by one person. A table that was rounded to hundreds
        changes by nothing or by a hundred, so its people are protected less than is stated.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As in `fit`.
        """
        return self._publish(self.prepare_counts(counts, edges, multiplier))

    def score_samples(self, X: Columns) -> Floats:
        """Logarithm of the released density at points (n, d); minus infinity where it is zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.atleast_1d(self.release_(X))))

    def plan(
        self,
        n: int,
        edges: Edges | None = None,
        max_weight: float | None = None,
        quarter: float | None = None,
    ) -> DensityPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        edges : array (m + 1,), or tuple of d arrays, optional
            As in `fit_counts`, for a table.
        max_weight : float, optional
            With survey weights, the largest; n is then what they add up to, over this.
        quarter : float, optional
            Expected length of the shortest stretch of an interval that holds a quarter of the units,
            in the units of the data: of a normal law .64 deviations. A guess, for errors and bands.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        whole(n, "n", 2)
        table = None if edges is None else self._cells_of(edges)
        private = self.settings.unit.public_size is None
        plan = self._plan(n, None, table, planned=private, quarter=quarter)
        return plan if max_weight is None else plan.weighted(max_weight)

    def prepare(
        self, X: Records, groups: Labels = None, weights: Weights | None = None
    ) -> Prepared[DensityPlan, Any]:
        """Everything before the noise, for points. The result is private.

        It holds the exact sum; with a zoom the points, whose cells are not chosen yet.
        """
        if is_dask(X):
            if weights is not None:
                raise ParameterError("weights", "be $none but for points in memory", "weights")
            X, groups = Container.of(X, groups).apart()
            pool = self._pooled(None if groups is not None else rows_of(X), groups)
            return pool.prepared(total_on_cluster(pool, X, groups))
        invalid = self.settings.reading.invalid
        dimensions = len(box_domain(self.settings.domain.ends))
        self._checked()
        X, groups = Container.of(X, groups).cells()
        points, usable = points_from_array(X, dimensions, invalid)
        codes, units = units_of(groups, len(points), invalid)
        plan = self._plan(usual_total(weights, units), groups)
        plan = plan if weights is None else plan.weighted(check_weights(weights).largest)
        counted = whole_weights(weights, len(points), invalid, EXPONENT)
        placed = PlacedPoints(points, usable, codes, EXPONENT, counted)
        if plan.zoom is not None:
            return Prepared(plan, placed)
        return Prepared(plan, IntegerSum.of(plan.total(placed.shares(plan.placed))))

    def pooled(self, n: int, columns: Columns | None = None) -> PooledDensity:
        """The histogram as several holders add it up, for n units of all of them; see `PooledSum`."""
        return self._pooled(whole(n, "n", 2), None)

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledDensity:
        """The same where the number of records is not known yet."""
        return self._pooled(None, groups)

    def _pooled(self, n: int | None, groups: object) -> PooledDensity:
        if self.mechanism != "histogram":
            words = "be 'histogram' where the points lie in several places"
            raise ParameterError("mechanism", words, shown(self.mechanism))
        unit = self.settings.unit
        if (unit.public_size if unit.private else n) is None and self.cells is None:
            words = "be given where the number of units is not known beforehand"
            raise ParameterError("cells", words, "None", "Or give public_size, where it is private.")
        if isinstance(self.scale, str) and self.scale == "zoom":
            words = "be 'linear' or public where the points lie in several places"
            raise ParameterError("scale", words, "'zoom'")
        return PooledDensity(self.settings, self._plan(2 if n is None else n, groups, together=False))

    def prepare_counts(
        self, counts: object, edges: Edges, multiplier: int = 1
    ) -> Prepared[DensityPlan, IntegerSum]:
        """Everything before the noise, for counts. The result is private."""
        cells = self._cells_of(edges)
        whole(multiplier, "multiplier", 1, words="be a positive integer")
        self._checked()
        people = whole_counts(counts, cells.shape, multiplier, self.settings.reading.invalid)
        plan = self._plan(sum(people), None, cells)
        return Prepared(plan, IntegerSum.of(plan.total([count << EXPONENT for count in people])))

    def _cells_of(self, edges: Edges) -> CellGrid:
        cells, ends = CellGrid.from_edges(edges), self.settings.domain.ends
        if ends is not None and box_domain(ends) != cells.domain_range:
            raise ParameterError("domain", f"be that of the edges, {cells.domain_range}", shown(ends))
        return cells

    def _plan(
        self,
        count: int,
        groups: object,
        table: CellGrid | None = None,
        planned: bool = False,
        together: bool = True,
        quarter: float | None = None,
    ) -> DensityPlan:
        automatic = isinstance(self.scale, str) and self.scale == "auto"
        domain = self.settings.domain
        flags = {
            "cells": self.cells,
            "step": domain.step,
            "atoms": domain.atoms or None,
            "scale": None if automatic else self.scale,
        }
        for name, value in flags.items():
            if value is not None and table is not None:
                words = "be left out for counts, whose edges say the cells"
                raise ParameterError(name, words, shown(value))
        whole_cells = domain.step is not None or (table is not None and table.dimensions == 1)
        smoothing = "monotone" if whole_cells else "adaptive"
        return density_plan(
            self._checked(),
            count,
            settings=self.settings,
            cells=self.cells if table is None else table,
            noise=self.noise,
            smoothing=smoothing if self.bandwidth is None else self.bandwidth,
            unit=self.settings.unit.called(groups),
            kernel=self._kernel(),
            planned=planned,
            scale="linear" if automatic and not together else self.scale,
            quarter=quarter,
        )

    def _checked(self) -> Guarantee:
        guarantee = check_choices(self)
        choice(self.noise, "noise", ("auto", "laplace", "gaussian"))
        self._kernel()
        if self.bandwidth is not None:
            check_smoothing(self.bandwidth, CellGrid.regular(1, (0, 1)), "bandwidth")
        return guarantee

    def _kernel(self) -> DensityKernel | None:
        if isinstance(self.mechanism, DensityKernel):
            return self.mechanism
        choice(self.mechanism, "mechanism", ("histogram", "kernel"))
        return DensityKernel() if self.mechanism == "kernel" else None

    def _publish(self, prepared: Prepared[DensityPlan, IntegerSum]) -> Self:
        self.release_ = publish_density(prepared, self._paying())
        self.n_features_in_ = prepared.plan.cells.dimensions
        return self
