"""The covariance function of many records, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import L2Ball, ValueBounds, read_bounds
from dpfda.errors import ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.embedding import project
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import Request, charge, check, publish
from dpfda.publication.covariances import (
    MEAN,
    CovarianceRequest,
    Shares,
    release_covariance,
    released_count,
)
from dpfda.records import Curves, LongCurves
from dpfda.records.second_moments import OuterSum
from dpfda.releases.counts import NoisyCount
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.releases.function import ReleasedFunction
from dpfda.summaries.choices import check_choices
from dpfda.summaries.curves import read_curves, unit_curves
from dpfda.summaries.deviations import (
    center_of,
    center_word,
    described_bound,
    deviation_radius,
    paired,
    public_center,
)
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.labels import read_labels
from dpfda.summaries.matrix_noise import Center, Exponential, MatrixNoise, open_share
from dpfda.summaries.mean import PrivateMean
from dpfda.summaries.settings import Reading
from dpfda.summaries.sums import Summation

Floats = NDArray[np.float64]

# Rows that are embedded at a time: a public number, below the limit of the exact sum.
BLOCK = 8192


@dataclass(frozen=True, eq=False, repr=False)
class PreparedCovariance:
    """The public request and the private curves that answer it, before anything is charged or drawn."""

    request: CovarianceRequest
    curves: Curves
    center: Floats | None
    mean: Request | None


class PrivateCovariance(Estimator):
    """Covariance function under differential privacy.

    Each record (or the average of each person's records) minus a public curve is taken to M
    coefficients in a public basis, shortened to a public length and rounded to integers c; the integer
    matrices c c' are added up exactly, and exact noise is added to the sum. What is released is a
    symmetric, positive semidefinite function on the square of the domain.

    Parameters
    ----------
    epsilon : float
        Privacy loss of the whole release, positive.
    delta : float
        Failure mass; 0 means pure differential privacy.
    rho : float, optional
        Zero-concentrated privacy loss, in the place of epsilon: exactly one of the two is given. The
        noise is then Gaussian where that is best.
    bounds : (lower, upper), ValueBounds or L2Ball, optional
        Public bound on a record, in the units of the data, enforced by clipping. It may be left out
        where a radius and a public center are given.
    center : None, curve, callable, ReleasedFunction, "private", "pairs" or Center
        What is subtracted from every record; with the length of deviations, and the share of the budget
        that a private mean gets, in a `dpfda.summaries.matrix_noise.Center`.
    mechanism : "auto", "wishart", "knorm", "gaussian" or MatrixNoise
        Law of the noise; with the number of basis functions and shrinkage in a
        `dpfda.summaries.matrix_noise.MatrixNoise`.
    basis, domain, unit, reading, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.

    Attributes
    ----------
    release_ : ReleasedCovariance
        The published covariance function.
    mean_release_ : ReleasedFunction or None
        The mean that was released as the center.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon or (epsilon, delta) for the whole release. Between neighbours the
    integer sum of outer products moves by D with |D|_F^2 <= 2 R^4 and tr|D| <= 2 R^2 (replace-one) or
    R^4 and R^2 (add/remove), R the integer length that every row is verified against; see
    `dpfda.noise.symmetric` for the proof and for the laws. A released count and a released mean
    have budgets of their own, which add up to epsilon (basic composition); the second stage may depend
    on what the first released, because composition is adaptive. The ledger is charged once, for the
    whole, before anything is drawn. All that follows the noisy integers is post-processing.

    Parameters are public. `X` and `groups` are private.

    References
    ----------
    Hardt & Talwar (2010) and Reimherr & Awan (2019), Example 4, for K-norm noise; Balle & Wang (2018)
    for Gaussian noise; the difference of Wishart matrices is proved here.

    Examples
    --------
    >>> import numpy as np
    >>> waves = np.sin(np.linspace(0, 3, 20)) * np.linspace(-0.2, 0.2, 50)[:, None]
    >>> estimator = PrivateCovariance(epsilon=1.0, center=Center(0.0, radius=0.4), domain=(0, 3))
    >>> estimator.fit(waves).release_.on_grid().shape
    (20, 20)
    """

    gathered: ClassVar = {**Estimator.gathered, "center": (Center,), "mechanism": (MatrixNoise,)}

    def __init__(
        self,
        epsilon: float | Fraction | None = None,
        delta: float | Fraction = 0.0,
        *,
        rho: float | Fraction | None = None,
        bounds: Any = None,
        center: Any = None,
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
        self.center = center
        self.basis = basis
        self.mechanism = mechanism
        self.domain = domain
        self.unit = unit
        self.reading = reading
        self.ledger = ledger
        self._take(fields)

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Release the covariance of the curves.

        Parameters
        ----------
        X : array (n, m), DataFrame, FDataGrid or LongCurves
            One curve a row, in the units of the data; NaN marks a missing value. Private.
        y : None
            Ignored.
        groups : array (n,), optional
            Privacy unit of each record. Private.

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
        prepared = prepare(self, X, groups)
        request = prepared.request
        certificate = request.certified()
        charge(*self.paying(), certificate, request.entry("covariance"))
        stage = first_stage(prepared, certificate)
        total = outer_sum(prepared.curves, stage, request.noise(stage.size).size)
        self.release_: ReleasedCovariance = release_covariance(
            total, stage.request, stage.divisor, stage.center, stage.mean, certificate
        )
        self.mean_release_ = stage.mean
        self.n_features_in_ = int(request.basis.grid_points.size)
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """What is known once the count and the center are public."""

    request: CovarianceRequest
    divisor: float | NoisyCount
    center: Floats
    mean: ReleasedFunction | None

    @property
    def size(self) -> int:
        """Number of units that designs are made for."""
        return (
            max(1, round(self.divisor.value))
            if isinstance(self.divisor, NoisyCount)
            else int(self.divisor)
        )


def prepare(
    estimator: Any, X: Any, groups: Any, strategy: MatrixNoise | Exponential | None = None
) -> PreparedCovariance:
    """Check everything that is public, and read the curves. Nothing is charged or drawn."""
    strategy = MatrixNoise.of(estimator.mechanism) if strategy is None else strategy
    # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
    with np.errstate(all="ignore"):
        return _prepare(estimator, X, groups, strategy)


def _prepare(
    estimator: Any, X: Any, groups: Any, strategy: MatrixNoise | Exponential
) -> PreparedCovariance:
    whole, settings, given = check_choices(estimator), estimator.settings, center_of(estimator)
    neighbours = Neighbours.parse(settings.unit.neighbours)
    word = center_word(given.curve)
    private, pairs = word == "private", word == "pairs"
    if pairs and neighbours is Neighbours.ADD_REMOVE:
        raise ParameterError(
            "center",
            "not be 'pairs' under add/remove neighbours",
            "'pairs'",
            "One unit more would change who is paired with whom. Use center='private' or a curve.",
        )
    reader = _reader(estimator, private)
    read_bounds(reader.bounds, settings.reading.standardize)
    values, basis, own = read_curves(settings, estimator.basis, X, groups)
    curves, own = unit_curves(settings, basis, values, own)
    size = reader._size(neighbours, int(curves.usable.size))
    if pairs and size is not None:
        # A file of observations may be sorted by time: which record comes first is then private.
        labels = values.ids if own is None and isinstance(values, LongCurves) else own
        curves, size = paired(curves, labels, reader), size // 2
    SymmetricTensorBasis(basis)
    center = None if private else public_center(estimator, basis)
    shares = Shares.of(
        whole, size is None, open_share(given.mean_share, "mean_share") if private else None
    )
    radius = deviation_radius(estimator, basis, center)
    noisy = strategy if isinstance(strategy, MatrixNoise) else MatrixNoise()
    request = CovarianceRequest(
        basis, radius, shares, neighbours, noisy.law, strategy.functions, size,
        settings.unit.name or ("record" if own is None else "group"), described_bound(estimator, radius),
        {
            "summary": "covariance",
            "center": word or ("of the bound" if given.curve is None else "public"),
            "standardized": settings.reading.standardize,
            **read_labels(settings.domain.labels),
        },
        noisy.shrinkage == "prior",
    )  # fmt: skip
    request.check()
    mean = None
    if private and shares.mean is not None:
        reader.set_params(epsilon=shares.mean.epsilon, delta=0, rho=None)
        bound = read_bounds(reader.bounds, settings.reading.standardize)
        mean = reader._request(basis, bound, size or 1, groups)
        check(mean)
    return PreparedCovariance(request, curves, center, mean)


def _reader(estimator: Any, private: bool) -> PrivateMean:
    """The mean that may be released first, with the estimator's bound on a record."""
    bounds, radius = estimator.bounds, center_of(estimator).radius
    standardize = estimator.settings.reading.standardize
    if bounds is None and not private and not standardize and radius is not None:
        bounds = L2Ball(radius)
    return PrivateMean(
        estimator.epsilon,
        estimator.delta,
        rho=estimator.rho,
        bounds=bounds,
        basis=estimator.basis,
        domain=estimator.domain,
        unit=estimator.unit,
        reading=estimator.reading,
    )


def first_stage(prepared: PreparedCovariance, certificate: Certificate) -> Stage:
    """Release the count and the mean, where they are private. The ledger has been charged."""
    request, size = prepared.request, prepared.request.size
    divisor: float | NoisyCount = float(size or 1)
    if request.count_noise is not None:
        counted = IntegerSum(1).add(np.zeros((prepared.curves.usable.size, 1), dtype=np.int64))
        divisor = released_count(counted, request.count_noise)
    if prepared.mean is None or prepared.center is not None:
        center = prepared.center if prepared.center is not None else np.zeros(0)
        return Stage(request, divisor, center, None)
    mean = _released_mean(prepared.mean, prepared.curves, divisor, certificate.part(MEAN))
    center = mean(request.basis.grid_points)
    bound = prepared.mean.bound
    if isinstance(bound, ValueBounds):
        center = np.clip(center, np.asarray(bound.lower), np.asarray(bound.upper))
    return Stage(request, divisor, np.asarray(center), mean)


def _released_mean(
    request: Request, curves: Curves, divisor: float | NoisyCount, certificate: Certificate
) -> ReleasedFunction:
    """The mean, designed for the count where that is public by now."""
    if isinstance(divisor, NoisyCount):
        counted = replace(request, public_size=max(1, round(divisor.value)))
        try:
            check(counted)
        except Exception:
            # All has been charged. The design for one unit was checked before that.
            counted = request
        request = counted
    summation = Summation(request, request.components())
    total = summation.empty()
    summation.add_curves(total, curves)
    finished = summation.finish(total, request)
    released: ReleasedFunction = publish(finished, request, certificate=certificate)
    return released


def outer_sum(curves: Curves, stage: Stage, components: int) -> OuterSum:
    """Subtract the center, embed, clip, round, multiply out and add up.

    Unusable rows count as the center itself: they add nothing.
    """
    request = stage.request
    # Pairs are differences already.
    center = 0.0 if request.about["center"] == "pairs" else stage.center
    analysis, ball = request.basis.analysis[:, :components], request.ball
    grid, restrict = request.basis.grid_points, _restriction(request)
    total = OuterSum(components)
    with np.errstate(all="ignore"):
        for start in range(0, curves.usable.size, BLOCK):
            rows = slice(start, start + BLOCK)
            centered = restrict(curves.values[rows], grid) - center
            # A difference of the largest doubles may overflow; it is clipped to the ball anyway.
            largest = np.finfo(np.float64).max / 4
            centered = np.clip(centered, -largest, largest)
            centered = np.where(curves.usable[rows, None], centered, 0.0)
            total.add(ball.clip(project(centered, analysis)))
    return total


def _restriction(request: CovarianceRequest) -> Callable[[Floats, Floats], Floats]:
    """Values clipped to the bounds on a record, where these are on values."""
    written = request.bound["records"]
    if request.about["center"] == "pairs" or written is None or written["kind"] != "values":
        return lambda values, grid: values
    lower, upper = np.asarray(written["lower"]), np.asarray(written["upper"])
    return lambda values, grid: np.asarray(np.clip(values, lower, upper))
