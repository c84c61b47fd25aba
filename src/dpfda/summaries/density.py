"""The density of points or of counts, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.cells import CellGrid, box_domain
from dpfda.bounds import Norm
from dpfda.errors import ParameterError
from dpfda.mechanisms.design.density import choose_cells
from dpfda.mechanisms.design.shares import EXPONENT, share_noise
from dpfda.mechanisms.posteriors.histospline import check_smoothing
from dpfda.noise import NoiseLaw
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, Neighbours, pure_part
from dpfda.publication import publish_integers, stamp
from dpfda.records.curves import check_choice
from dpfda.records.dask_arrays import is_dask
from dpfda.records.frames import cells_handed
from dpfda.records.labels import unit_codes
from dpfda.records.points import cell_weights, points_from_array, whole_counts
from dpfda.releases.density import ReleasedDensity
from dpfda.releases.histogram import ReleasedHistogram, noise_words
from dpfda.summaries.choices import check_choices, public_size
from dpfda.summaries.density_kernel import DensityKernel
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.labels import read_labels
from dpfda.summaries.settings import Reading

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class PreparedDensity:
    """All that is known before anything is charged or drawn: the public side, and the private sum.

    Parameters
    ----------
    cells : CellGrid
    total : IntegerSum
        Private integers.
    noise : NoiseLaw
    norm, width
        Neighbouring data sets move the integers by at most `width` in this norm.
    charged : Guarantee
    public : mapping
        What the release will hold beside the noisy integers.
    elements : Elements or None
        Of the kernel estimate; None for the histogram.
    """

    cells: CellGrid
    total: IntegerSum
    noise: NoiseLaw
    norm: Norm
    width: int
    charged: Guarantee
    public: Mapping[str, Any] = field(default_factory=dict)
    elements: Any = None


class PrivateDensity(Estimator):
    """Probability density on an interval, a rectangle or a box, under differential privacy.

    By default each person is counted in one of M public cells, noise is added to the counts, and the
    noisy counts are smoothed and made a proper density; all after the noise is free. With
    ``mechanism="kernel"`` the papers' kernel estimate is released instead.

    Parameters
    ----------
    epsilon : float
        Privacy loss, positive.
    delta : float
        Failure mass; 0 means pure differential privacy.
    rho : float, optional
        Zero-concentrated privacy loss, in the place of epsilon: exactly one of the two is given. The
        noise is then Gaussian where that is best.
    domain : (a, b), one to three pairs (a, b), or Domain
        Public ends of the domain, in the units of the data; with words in a `dpfda.Domain`. No default:
        the span of the data is private. Points outside go to the nearest cell.
    mechanism : "histogram", "kernel" or DensityKernel
        See Notes.
    cells : int or sequence of d int, optional
        Number of cells along each axis. By default the number with the least expected error, from public
        numbers (size, epsilon, dimension).
    noise : {"auto", "laplace", "gaussian"}
        On the counts. Gaussian noise needs delta > 0; "auto" takes the one of least variance, which for
        counts is nearly always Laplace, and then no delta is spent.
    bandwidth : "adaptive", "monotone" or float, optional
        How the noisy counts are smoothed: by weights found from the noisy counts themselves; the same,
        then a monotone distribution function through the cells' shares; or with a public bandwidth
        (standard deviation of a normal density, in the units of the axes). By default "adaptive", for
        tables on an interval "monotone". See `dpfda.mechanisms.posteriors.histospline`. The release can
        be smoothed again at no cost (`ReleasedDensity.smoothed`).
    unit : str or PrivacyUnit, optional
        Who is protected, as in `dpfda.PrivateMean`. Under add/remove a public size is needed for the
        choice of cells or bandwidth, unless `cells` is given (and for the kernel estimate, always).
    reading : Reading, optional
        Whether unusable points are refused, or left out: `dpfda.Reading`.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn, as in `dpfda.PrivateMean`.

    Attributes
    ----------
    release_ : ReleasedDensity
        The published density.
    n_features_in_ : int
        Number d of coordinates.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0) or (epsilon, delta), one unit being one point, or all points
    of one label of `groups`, or one person counted in a table.

    *Histogram.* A unit's record is the vector u of the shares of the M cells in its points, in units of
    2^-20 and rounded down: integers u_c >= 0 with sum_c u_c <= 2^20 =: w. (A unit of one point has w in
    one cell; a unit without a usable point is the zero vector.) Two units are at most 2 w apart in the
    l1 norm and 2^(1/2) w in the l2 norm: `dpfda.mechanisms.design.shares`. The density ratio of
    independent Laplace noise of scale B is at most exp(|difference|_1 / B), and rounding it is
    post-processing: B >= 2 w / epsilon (or w / epsilon), rounded up, gives pure epsilon. In persons this
    noise has standard deviation 8^(1/2) / epsilon (or 2^(1/2) / epsilon) in each cell however many there
    are, because a person is in one cell. Gaussian noise is calibrated to the l2 difference. The loss of
    the integer scales in force is computed again, exactly, before anything is drawn.

    *Kernel.* Element and sensitivity: `dpfda.summaries.density_kernel`.

    Everything after the noisy integers is post-processing: smoothing, projection, quantiles, draws.
    The number and place of cells come from public numbers. `X`, `counts` and `groups` are private.

    **Error.** A cosine coefficient has privacy noise of variance 8 M / (n epsilon)^2 (a quarter of that
    under add/remove) beside 1/n of sampling, before it is shrunk.

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

    Deaths by age, in thousands, between public edges:

    >>> deaths, edges = [4612.439, 599.401, 2040.3], [0, 5, 15, 100]
    >>> density = PrivateDensity(epsilon=1, unit="person").fit_counts(deaths, edges, multiplier=1000)
    >>> round(density.release_.integral(0, 100), 12)
    1.0
    """

    def __init__(
        self,
        epsilon: float | Fraction | None = None,
        delta: float | Fraction = 0.0,
        *,
        rho: float | Fraction | None = None,
        mechanism: Any = "histogram",
        cells: Any = None,
        noise: str = "auto",
        bandwidth: Any = None,
        domain: Any = None,
        unit: Any = None,
        reading: Reading | None = None,
        ledger: Any = None,
        **fields: Any,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.mechanism = mechanism
        self.cells = cells
        self.noise = noise
        self.bandwidth = bandwidth
        self.domain = domain
        self.unit = unit
        self.reading = reading
        self.ledger = ledger
        self._take(fields)

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Release the density of points.

        Parameters
        ----------
        X : array (n, d), or (n,) on an interval
            One point a row, in the units of the domain. Private.
        y : None
            Ignored.
        groups : array (n,), optional
            Privacy unit of each point, for example the person: each counts as one, spread over its
            points. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable. Nothing was charged and no noise was drawn.
        DataError
            If the data cannot be used as they are; row and column, never a value.
        BudgetError
            If the ledger refuses.
        """
        return self._publish(self.prepare(X, groups))

    def fit_counts(self, counts: Any, edges: Any, multiplier: int = 1) -> Self:
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

    def score_samples(self, X: Any) -> Floats:
        """Logarithm of the released density at points (n, d); minus infinity where it is zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.atleast_1d(self.release_(X))))

    def prepare(self, X: Any, groups: Any = None) -> PreparedDensity:
        """Everything before the noise, for points. The result is private."""
        if is_dask(X):
            return self._prepare_on_cluster(X, groups)
        settings = self.settings
        invalid, domain = settings.reading.invalid, box_domain(settings.domain.domain_range)
        guarantee, neighbours = self._checked()
        X, groups = cells_handed(X, groups)[:2]
        points, usable = points_from_array(X, len(domain), invalid)
        codes = None if groups is None else unit_codes(groups, len(points), invalid)
        units = len(points) if codes is None else int(codes.max(initial=-1)) + 1
        size = self._size(neighbours, units)
        unit = settings.unit.name or ("record" if groups is None else "group")
        mechanism = self._kernel()
        if mechanism is None:
            cells = self._cells(size, len(domain), guarantee, neighbours)
        elif self.cells is not None:
            cells = CellGrid.regular(self.cells, domain)
        else:
            cells = mechanism.grid(domain, len(domain))
        weights = cell_weights(cells.index(points), usable, codes, cells.size, EXPONENT)
        return self._prepared(cells, weights, size, guarantee, neighbours, unit, "adaptive")

    def _prepare_on_cluster(self, X: Any, groups: Any) -> PreparedDensity:
        from dpfda.records.dask_arrays import rows_of
        from dpfda.summaries.clusters import total_on_cluster
        from dpfda.summaries.pooled import PooledDensity

        pool = PooledDensity.of(self, None if groups is not None else rows_of(X), groups is not None)
        return pool.prepared(total_on_cluster(pool, X, groups))

    def prepare_counts(self, counts: Any, edges: Any, multiplier: int = 1) -> PreparedDensity:
        """Everything before the noise, for counts. The result is private."""
        cells = CellGrid.from_edges(edges)
        settings = self.settings
        ends = settings.domain.domain_range
        if ends is not None and box_domain(ends) != cells.domain_range:
            raise ParameterError(
                "domain_range", f"be that of the edges, {cells.domain_range}", shown(ends)
            )
        if self.cells is not None:
            raise ParameterError(
                "cells", "be left out for counts, whose edges say them", repr(self.cells)
            )
        if isinstance(multiplier, bool) or not isinstance(multiplier, int) or multiplier < 1:
            raise ParameterError("multiplier", "be a positive integer", repr(multiplier))
        guarantee, neighbours = self._checked()
        people = whole_counts(counts, cells.shape, multiplier, settings.reading.invalid)
        size = self._size(neighbours, sum(people))
        weights = [count << EXPONENT for count in people]
        unit, smoothing = (
            settings.unit.name or "record",
            "monotone" if cells.dimensions == 1 else "adaptive",
        )
        return self._prepared(cells, weights, size, guarantee, neighbours, unit, smoothing)

    def _checked(self) -> tuple[Guarantee, Neighbours]:
        guarantee = check_choices(self)
        check_choice(self.noise, "noise", ("auto", "laplace", "gaussian"))
        self._kernel()
        if self.bandwidth is not None:
            check_smoothing(self.bandwidth, CellGrid.regular(1, (0, 1)), "bandwidth")
        return guarantee, Neighbours.parse(self.settings.unit.neighbours)

    def _kernel(self) -> DensityKernel | None:
        if isinstance(self.mechanism, DensityKernel):
            return self.mechanism
        check_choice(self.mechanism, "mechanism", ("histogram", "kernel"))
        return DensityKernel() if self.mechanism == "kernel" else None

    def _size(self, neighbours: Neighbours, units: int) -> int | None:
        """The public number of units; None under add/remove."""
        if neighbours is Neighbours.ADD_REMOVE:
            if self.settings.unit.public_size is not None:
                whole(self.settings.unit.public_size, "public_size", words="be a positive integer")
            return None
        return public_size(self.settings.unit, units)

    def _design_size(self, size: int | None, parameter: str) -> int:
        found = size or self.settings.unit.public_size
        if found is None:
            raise ParameterError(
                parameter,
                "be given under add/remove neighbours, where the number of units is private",
                "None",
                "Or give public_size, a public number such as the size planned.",
            )
        return int(found)

    def _cells(
        self,
        size: int | None,
        dimensions: int,
        guarantee: Guarantee,
        neighbours: Neighbours,
    ) -> CellGrid:
        if self.cells is not None:
            return CellGrid.regular(self.cells, self.settings.domain.domain_range)
        count = choose_cells(
            self._design_size(size, "cells"), dimensions, guarantee, neighbours, self.noise
        )
        return CellGrid.regular(count, self.settings.domain.domain_range)

    def _prepared(
        self,
        cells: CellGrid,
        weights: list[int] | IntegerSum,
        size: int | None,
        guarantee: Guarantee,
        neighbours: Neighbours,
        unit: str,
        smoothing: str,
    ) -> PreparedDensity:
        public = {
            "neighbours": neighbours,
            "unit": unit,
            "public_size": size,
            "smoothing": smoothing if self.bandwidth is None else self.bandwidth,
            "about": {
                "summary": "density",
                **read_labels(self.settings.domain.labels, boxes=True),
                **stamp(),
            },
        }
        kernel = self._kernel()
        if kernel is None:
            check_smoothing(public["smoothing"], cells, "bandwidth")
            noise, charged, norm, width = share_noise(cells.size, guarantee, neighbours, self.noise)
            total = weights if isinstance(weights, IntegerSum) else IntegerSum.of(weights)
            return PreparedDensity(cells, total, noise, norm, width, charged, public)
        if isinstance(weights, IntegerSum):
            words = "be 'histogram' where the points lie in several places"
            raise ParameterError("mechanism", words, shown(self.mechanism))
        elements = kernel.elements(cells, self._design_size(size, "public_size"))
        width = elements.width(neighbours) << EXPONENT
        charged = guarantee if kernel.noise == "gaussian" else pure_part(guarantee)
        noise = elements.law(width, charged)
        total = IntegerSum.of(elements.total(weights))
        return PreparedDensity(cells, total, noise, elements.norm, width, charged, public, elements)

    def _publish(self, prepared: PreparedDensity) -> Self:
        noisy, certificate = publish_integers(
            prepared.total,
            prepared.noise,
            prepared.norm,
            prepared.width,
            prepared.charged,
            self._entry(prepared),
            *self.paying(),
            self._tuning(prepared),
        )
        self.release_ = self.assemble(prepared, noisy, certificate)
        self.n_features_in_ = prepared.cells.dimensions
        return self

    def assemble(
        self, prepared: PreparedDensity, noisy: tuple[int, ...], certificate: Certificate
    ) -> ReleasedDensity:
        """The released density around the mechanism's output: post-processing.

        Parameters
        ----------
        prepared : PreparedDensity
            Its public side is used.
        noisy : tuple of int
            The sum with noise.
        certificate : Certificate
            What was charged.
        """
        kernel = self._kernel()
        if kernel is None:
            return ReleasedDensity(self._histogram(prepared, noisy, certificate))
        public = {**prepared.public, "noise": prepared.noise, "certificate": certificate}
        return ReleasedDensity(kernel.release(prepared.elements, noisy, EXPONENT, public))

    def _histogram(
        self, prepared: PreparedDensity, noisy: tuple[int, ...], certificate: Certificate
    ) -> ReleasedHistogram:
        named = ("public_size", "smoothing", "about")
        return ReleasedHistogram(
            cells=prepared.cells,
            noisy_counts=noisy,
            exponent=EXPONENT,
            noise=prepared.noise,
            certificate=certificate,
            **{name: prepared.public[name] for name in named},
        )

    def _tuning(self, prepared: PreparedDensity) -> dict[str, Any]:
        """Name and public tuning of the mechanism, for the certificate."""
        kernel = self._kernel()
        if kernel is None:
            words = noise_words(prepared.noise)
            return {"name": "histogram", "cells": list(prepared.cells.shape), "noise": words}
        return {"name": "kernel", "eta": float(kernel.eta), "noise": kernel.noise}

    def _entry(self, prepared: PreparedDensity) -> dict[str, Any]:
        kernel = self._kernel()
        name, bound = "histogram", "one cell a unit"
        if kernel is not None:
            name, count = (
                f"kernel, eta {kernel.eta:g}, {kernel.noise} noise",
                len(prepared.elements.integers),
            )
            bound = f"points, each moved to the nearest of {count} public ones"
        return {
            "summary": "density",
            "neighbours": str(prepared.public["neighbours"]),
            "privacy_unit": prepared.public["unit"],
            "bound": bound,
            "basis": prepared.cells.describe(),
            "mechanism": name,
        }
