"""The covariance function of many records, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import L2Ball, ValueBounds, read_bounds
from dpfda.errors import ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.embedding import project
from dpfda.numerics.rationals import exact
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
from dpfda.records import Curves, LongCurves, curves_from_array, curves_from_long, standardized, units
from dpfda.records.curves import check_choice
from dpfda.records.labels import unit_codes
from dpfda.records.second_moments import OuterSum
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.releases.function import NoisyCount, ReleasedFunction
from dpfda.summaries.choices import check_choices
from dpfda.summaries.deviations import (
    center_word,
    described_bound,
    deviation_radius,
    paired,
    public_center,
)
from dpfda.summaries.labels import read_labels
from dpfda.summaries.mean import PrivateMean
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


class PrivateCovariance(BaseEstimator):  # type: ignore[misc]
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
    bounds : (lower, upper), ValueBounds or L2Ball, optional
        Public bound on a record, in the units of the data, enforced by clipping. It may be left out
        where `radius` and a public `center` are given.
    radius : float, optional
        Public L2 length (units of the data times the root of those of the domain) to which a record's
        deviation from the center is shortened. By default what `bounds` imply. Noise grows with its
        square: about twice the root mean square deviation is a good value, from public knowledge.
    center : None, curve, callable, ReleasedFunction, "private" or "pairs"
        What is subtracted from every record. None is the center of the bound: the release is then a
        second moment around it. A curve, a number or a function is public, for example an earlier
        release of the mean. "private" releases the mean first, with a share of the budget, and takes
        that; deviations are then measured, and shortened, around a curve close to the mean, and the
        covariance exceeds that around the exact mean by the square of the released mean's error.
        "pairs" needs no center: units 1 and 2, 3 and 4, ... (in the order of the rows or, with `groups`,
        of the labels) become one record (x - x') / sqrt(2), whose second moment is the covariance.
        Nothing is spent on a mean, but there are half as many records. Replace-one neighbours only; an
        odd unit is left out.
    mean_share : float
        Share of the budget that the mean gets under ``center="private"``, between 0 and 1.
    components : int, optional
        Number M of functions. By default the one with the least expected error, from public numbers.
    mechanism : {"auto", "wishart", "knorm", "gaussian"}
        Law of the noise: a difference of Wishart matrices or a K-norm law (both pure), or Gaussian
        (delta > 0). "auto" is the one with the least expected error.
    shrinkage : {"prior", "none"}
        Shrink the noisy coordinates under the kernel's prior, its scale fitted to the noisy release
        (free); or leave them. Either way negative eigenvalues are then removed.
    standardize, kernel, basis, grid_points, domain_range, quadrature, neighbours, public_size
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.
    missing, invalid, smoothing, unit, labels, ledger, dataset
        As in `dpfda.PrivateMean`.

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
    >>> estimator = PrivateCovariance(epsilon=1.0, center=0.0, radius=0.4, domain_range=(0, 3))
    >>> estimator.fit(waves).release_.on_grid().shape
    (20, 20)
    """

    def __init__(
        self,
        epsilon: float | Fraction,
        delta: float | Fraction = 0.0,
        *,
        bounds: Any = None,
        radius: float | None = None,
        center: Any = None,
        mean_share: float = 0.5,
        components: int | None = None,
        mechanism: str = "auto",
        shrinkage: str = "prior",
        standardize: bool = False,
        kernel: Any = None,
        basis: Basis | None = None,
        grid_points: ArrayLike | None = None,
        domain_range: tuple[float, float] | None = None,
        quadrature: Any = "trapezoid",
        neighbours: str = "replace-one",
        public_size: int | None = None,
        missing: str = "refuse",
        invalid: str = "refuse",
        smoothing: float = 0.01,
        unit: str | None = None,
        labels: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.center = center
        self.mean_share = mean_share
        self.components = components
        self.mechanism = mechanism
        self.shrinkage = shrinkage
        self.standardize = standardize
        self.kernel = kernel
        self.basis = basis
        self.grid_points = grid_points
        self.domain_range = domain_range
        self.quadrature = quadrature
        self.neighbours = neighbours
        self.public_size = public_size
        self.missing = missing
        self.invalid = invalid
        self.smoothing = smoothing
        self.unit = unit
        self.labels = labels
        self.ledger = ledger
        self.dataset = dataset

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
        charge(self.ledger, self.dataset, certificate, request.entry("covariance"))
        stage = first_stage(prepared, certificate)
        total = outer_sum(prepared.curves, stage, request.noise(stage.size).size)
        self.release_: ReleasedCovariance = release_covariance(
            total, stage.request, stage.divisor, stage.center, stage.mean, certificate
        )
        self.mean_release_ = stage.mean
        self.n_features_in_ = int(request.basis.grid_points.size)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: noise in every fit, NaN only where it is dealt with."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = self.missing == "complete" or self.invalid == "repair"
        return tags


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


def prepare(estimator: Any, X: Any, groups: Any) -> PreparedCovariance:
    """Check everything that is public, and read the curves. Nothing is charged or drawn."""
    # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
    with np.errstate(all="ignore"):
        return _prepare(estimator, X, groups)


def _prepare(estimator: Any, X: Any, groups: Any) -> PreparedCovariance:
    whole = check_choices(estimator)
    neighbours = Neighbours.parse(estimator.neighbours)
    check_choice(estimator.shrinkage, "shrinkage", ("prior", "none"))
    word = center_word(estimator.center)
    private, pairs = word == "private", word == "pairs"
    if pairs and neighbours is Neighbours.ADD_REMOVE:
        raise ParameterError(
            "center",
            "not be 'pairs' under add/remove neighbours",
            "'pairs'",
            "One unit more would change who is paired with whom. Use center='private' or a curve.",
        )
    reader = _reader(estimator, "private" if private else None)
    basis, curves, size, own = _read(reader, X, groups, neighbours)
    if pairs and size is not None:
        # A file of observations may be sorted by time: which record comes first is then private.
        labels = X.ids if own is None and isinstance(X, LongCurves) else own
        curves, size = paired(curves, labels, reader), size // 2
    SymmetricTensorBasis(basis)
    center = None if private else public_center(estimator, basis)
    share = _share(estimator.mean_share) if private else None
    shares = Shares.of(whole, size is None, share)
    radius = deviation_radius(estimator, basis, center)
    standardize = bool(estimator.standardize)
    request = CovarianceRequest(
        basis, radius, shares, neighbours, estimator.mechanism, estimator.components, size,
        estimator.unit or ("record" if own is None else "group"), described_bound(estimator, radius),
        {
            "summary": "covariance",
            "center": word or ("of the bound" if estimator.center is None else "public"),
            "standardized": standardize,
            **read_labels(estimator.labels),
        },
        estimator.shrinkage == "prior",
    )  # fmt: skip
    request.check()
    mean = None
    if private and shares.mean is not None:
        reader.set_params(epsilon=shares.mean.epsilon, delta=0)
        mean = reader._request(basis, read_bounds(reader.bounds, standardize), size or 1, groups)
        check(mean)
    return PreparedCovariance(request, curves, center, mean)


def _reader(estimator: Any, center: str | None) -> PrivateMean:
    names = (
        "standardize", "kernel", "basis", "grid_points", "domain_range", "quadrature", "neighbours",
        "public_size", "missing", "invalid", "smoothing", "unit", "labels",
    )  # fmt: skip
    bounds = estimator.bounds
    if bounds is None and center is None and not estimator.standardize and estimator.radius is not None:
        bounds = L2Ball(estimator.radius)
    return PrivateMean(
        estimator.epsilon,
        estimator.delta,
        bounds=bounds,
        **{name: getattr(estimator, name) for name in names},
    )


def _read(
    reader: PrivateMean, X: Any, groups: Any, neighbours: Neighbours
) -> tuple[Basis, Curves, int | None, Any]:
    """Basis, curves of the privacy units, their number where it is public, and the groups."""
    check_choice(reader.missing, "missing", ("refuse", "complete"))
    check_choice(reader.invalid, "invalid", ("refuse", "repair"))
    read_bounds(reader.bounds, reader.standardize)
    values, basis, groups = reader._read(X, groups)
    if isinstance(X, LongCurves):
        groups = X.record_groups(reader.invalid) if groups is None else groups
        curves = curves_from_long(X, basis, reader.smoothing, reader.invalid)
    else:
        curves = curves_from_array(values, basis.grid_points, reader.missing, reader.invalid)
    if reader.standardize:
        curves = standardized(curves, basis.weights)
    if groups is not None:
        curves = units(curves, unit_codes(groups, curves.usable.size, reader.invalid))
    return basis, curves, reader._size(neighbours, int(curves.usable.size)), groups


def _share(value: Any) -> Fraction:
    share = exact(value, "mean_share")
    if not 0 < share < 1:
        raise ParameterError("mean_share", "lie strictly between 0 and 1", repr(value))
    return share


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
