"""OpenDP: summaries as measurements that it chains, composes and counts, and its outputs as releases.

A measurement is made of an estimator, which says what is published and at which guarantee. One row of
the data is one privacy unit.

===============  ================================  ================================  ==================
neighbours       change-one, Hamming distance d    symmetric, insert-delete dist. d  rows
===============  ================================  ================================  ==================
``replace-one``  d units                           d // 2 units                      ``size`` is public
``add-remove``   2 d units                         d units                           of any size
===============  ================================  ================================  ==================

Two data sets of one public size are at an even symmetric distance, and half of it is the number of rows
that have to be replaced; Hamming and insert-delete distances also count the order, which no sum depends
on, so they are no smaller. Replacing a row is removing one and adding one.

The measure is the maximal divergence where the guarantee is pure, its approximate version where it has
a delta, zero-concentrated divergence where it has a rho. For k units the privacy map is k epsilon;
k epsilon and delta (exp(k epsilon) - 1) / (exp(epsilon) - 1); k^2 rho: group privacy, as
`dpfda.privacy.composition.for_group` has it, in floats that are rounded up. For one unit it is the
guarantee itself, which is first rounded down to floats.

A measurement must not fail because of what stands in a row. The estimator therefore has to repair
(``invalid="repair"``): unusable rows, such as those with infinite values, count as a fixed public one.
Data sets have at least one row: that there is any is taken to be public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis, CosineBasis
from dpfda.bases.grids import check_domain
from dpfda.covariance.estimator import PrivateCovariance
from dpfda.covariance.fpca import PrivateFPCA
from dpfda.density.estimator import PrivateDensity
from dpfda.machines.classification import PrivateKernelClassifier
from dpfda.machines.regression import PrivateKernelRegressor
from dpfda.mean.estimator import PrivateMean
from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.numerics.arrays import Cells
from dpfda.numerics.errors import DataError, ParameterError, needed
from dpfda.numerics.parameters import choice, reals, shown, whole
from dpfda.privacy.caveats import already_charged
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost, for_group
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.publication import stamp
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.estimator import Estimator
from dpfda.spine.settings import Domain, PrivacyUnit

if TYPE_CHECKING:
    from opendp.mod import Domain as InputDomain
    from opendp.mod import Measure, Measurement, Metric

    from dpfda.releases.base import Release

Distance = float | tuple[float, float]
Made = TypeVar("Made", bound=Estimator)
# Metrics that count changed rows; those that count added and removed rows.
CHANGES, EDITS = ("ChangeOneDistance", "HammingDistance"), ("SymmetricDistance", "InsertDeleteDistance")
# Scales of noise are integers of at least so many binary places.
PLACES = 40


def make_mean(input_domain: InputDomain, input_metric: Metric, estimator: PrivateMean) -> Measurement:
    """The mean of curves as a measurement of OpenDP, whose output is a `ReleasedFunction`.

    Parameters
    ----------
    input_domain : Domain
        ``dp.numpy.array2_domain(T=float, num_columns=m, size=n)``: a row is one curve on the grid of the
        estimator. ``size`` is needed with replace-one neighbours.
    input_metric : Metric
        ``dp.change_one_distance()``, ``dp.symmetric_distance()`` or one of the others above.
    estimator : PrivateMean
        With a guarantee, bounds, neighbours, and ``invalid="repair"``. It is copied. A ledger that it
        has is charged besides.

    Returns
    -------
    Measurement
        For ``dp.c.make_adaptive_composition`` and whatever else takes one.

    Raises
    ------
    ParameterError
        If the domain, the metric and the estimator do not fit each other.
    MissingExtraError
        If OpenDP is not installed.

    Notes
    -----
    OpenDP asks for its features "contrib" and "honest-but-curious" to be enabled: it cannot check what
    is proved here, and takes this library's word.

    Examples
    --------
    >>> import numpy as np
    >>> import opendp.prelude as dp
    >>> from dpfda import PrivateMean
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> domain = dp.numpy.array2_domain(T=float, num_columns=8, size=50)
    >>> mean = PrivateMean(0.5, bounds=(-1, 1), invalid="repair")
    >>> measurement = make_mean(domain, dp.change_one_distance(), mean)
    >>> measurement.map(1), measurement.map(2)
    (0.5, 1.0)
    >>> measurement(np.zeros((50, 8))).count
    50.0
    """
    return _measurement(input_domain, input_metric, estimator, PrivateMean)


def make_density(
    input_domain: InputDomain, input_metric: Metric, estimator: PrivateDensity
) -> Measurement:
    """The density of points as a measurement of OpenDP, whose output is a `ReleasedDensity`.

    Parameters
    ----------
    input_domain : Domain
        ``dp.numpy.array2_domain(T=float, num_columns=d)``, or for points on a line
        ``dp.vector_domain(dp.atom_domain(T=float))``.
    input_metric : Metric
    estimator : PrivateDensity
        As in `make_mean`.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateDensity)


def make_covariance(
    input_domain: InputDomain, input_metric: Metric, estimator: PrivateCovariance
) -> Measurement:
    """The covariance of curves as a measurement of OpenDP, whose output is a `ReleasedCovariance`.

    Parameters as in `make_mean`.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateCovariance)


def make_components(
    input_domain: InputDomain, input_metric: Metric, estimator: PrivateFPCA
) -> Measurement:
    """Principal components as a measurement of OpenDP, whose output are `ReleasedComponents`.

    Parameters as in `make_mean`.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateFPCA)


def make_regression(
    input_domain: InputDomain, input_metric: Metric, estimator: PrivateKernelRegressor
) -> Measurement:
    """A regression function as a measurement of OpenDP, whose output is a released predictor.

    Parameters as in `make_mean`; the last column of the data is the target.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateKernelRegressor)


def make_classification(
    input_domain: InputDomain, input_metric: Metric, estimator: PrivateKernelClassifier
) -> Measurement:
    """A classification function as a measurement of OpenDP, whose output is a released predictor.

    Parameters as in `make_mean`; the last column of the data is the class, one of two numbers.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateKernelClassifier)


def _measurement(
    domain: InputDomain, metric: Metric, estimator: object, kind: type[Estimator]
) -> Measurement:
    with needed("opendp", "opendp", "A measurement"):
        import opendp.prelude as dp
    if not isinstance(estimator, kind):
        raise ParameterError("estimator", f"be a {kind.__name__}", shown(estimator))
    copied = _in_floats(estimator)
    settings = copied.settings
    if settings.reading.invalid != "repair":
        words = "repair records that cannot be used, so that no row makes a measurement fail"
        remedy = 'Give invalid="repair": such rows then count as a fixed public one.'
        raise ParameterError("estimator", words, f"invalid={settings.reading.invalid!r}", remedy)
    size, columns = shape(domain)
    neighbours = Neighbours.parse(settings.unit.neighbours)
    if neighbours is Neighbours.REPLACE_ONE and size is None:
        words = "state its size, which replace-one neighbours make public"
        remedy = 'Give size=n, or neighbours="add-remove" to the estimator.'
        raise ParameterError("input_domain", words, "none", remedy)
    supervised = kind in (PrivateKernelRegressor, PrivateKernelClassifier)
    units, guarantee = units_at(metric, neighbours), copied.asked()

    def released(data: object) -> Release:
        rows = _rows(data, size, columns)
        # OpenDP counts, and draws as often as it allows.
        with already_charged():
            parts = (rows[:, :-1], rows[:, -1]) if supervised else (rows,)
            release: Release = copied.__sklearn_clone__().fit(*parts).release_
        return release

    measurement: Measurement = dp.m.make_user_measurement(
        domain, metric, _measure(dp, guarantee), released, lambda d_in: _lost(guarantee, units(d_in))
    )
    return measurement


def _in_floats(estimator: Made) -> Made:
    """A copy whose guarantee is in floats, at or below what was asked: OpenDP takes no other numbers."""
    copied, guarantee = estimator.__sklearn_clone__(), estimator.asked()
    return copied.set_params(
        **{term: Fraction(_rounded(getattr(guarantee, term), up=False)) for term in guarantee.terms}
    )


def _rounded(value: Fraction, up: bool) -> float:
    """The nearest float that is not below, or not above, a number that is not negative."""
    nearest = float(value)
    beyond = Fraction(nearest) < value if up else Fraction(nearest) > value
    return math.nextafter(nearest, math.inf if up else 0.0) if beyond else nearest


def _measure(dp: ModuleType, guarantee: Guarantee) -> Measure:
    divergences: dict[type, Callable[[], Measure]] = {
        PureDP: dp.max_divergence,
        ApproximateDP: lambda: dp.approximate(dp.max_divergence()),
        ZeroConcentratedDP: dp.zero_concentrated_divergence,
    }
    return divergences[type(guarantee)]()


def _lost(guarantee: Guarantee, units: int) -> Distance:
    """What is lost on data sets that differ in so many units, rounded up."""
    if units == 0:
        return (0.0, 0.0) if isinstance(guarantee, ApproximateDP) else 0.0
    group = for_group(guarantee, units)
    lost = tuple(_rounded(getattr(group, term), up=True) for term in group.terms)
    return lost[0] if len(lost) == 1 else (lost[0], lost[1])


def _rows(data: object, size: int | None, columns: int | None) -> Cells:
    """The data, if they have the public shape that the domain states."""
    values = np.asarray(data, dtype=np.float64)
    sizes: Mapping[str, tuple[int | None, int | None]] = {
        "rows": (size, len(values)),
        "columns": (columns, values.shape[1] if values.ndim == 2 else None),
    }
    for what, (wanted, got) in sizes.items():
        if wanted is not None and wanted != got:
            raise DataError(f"The data must have {wanted} {what}, as their domain says; found others.")
    return values


def guarantee_of(measurement: Measurement, d_in: int = 1) -> Guarantee:
    """What OpenDP says of a measurement at a distance, as a guarantee; floats are taken exactly.

    Raises
    ------
    ParameterError
        If its measure is another than maximal, approximate or zero-concentrated divergence.
    """
    measure, lost = str(measurement.output_measure), measurement.map(d_in)  # type: ignore[no-untyped-call]
    if measure == "MaxDivergence":
        return PureDP(Fraction(lost))
    if measure == "ZeroConcentratedDivergence":
        return ZeroConcentratedDP(Fraction(lost))
    if measure == "Approximate(MaxDivergence)":
        epsilon, delta = map(Fraction, lost)
        return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    words = "have maximal, approximate or zero-concentrated divergence as its measure"
    raise ParameterError("measurement", words, measure)


def as_release(
    values: ArrayLike,
    measurement: Measurement,
    scale: ArrayLike,
    domain: Domain,
    *,
    law: str,
    basis: Basis | None = None,
    unit: PrivacyUnit | str | None = None,
    size: int | None = None,
    d_in: int | None = None,
    bound: str = "as the measurement of OpenDP says",
) -> ReleasedFunction:
    """Noisy means on a grid, which an OpenDP measurement gave, as a released function with its band.

    Parameters
    ----------
    values : array (m,)
        What the measurement answered: a mean on each grid point, with independent noise.
    measurement : Measurement
        It says what is promised. That the values are its answer, and have this law, is taken on trust.
    scale : float or array (m,)
        Of the noise, in units of the values: of Laplace noise or standard deviation of Gaussian noise.
    domain : dpfda.Domain
        With the grid (m,), and ends and labels where there are any.
    law : {"laplace", "gaussian"}
        Noise on a fine grid of numbers, such as OpenDP's, counts as its continuous law.
    basis : Basis, optional
        Public functions that are fitted to the values; by default m cosines, which go through all.
    unit : PrivacyUnit or str, optional
        Who a row is, and neighbours.
    size : int, optional
        Number of rows, which replace-one neighbours make public; by default that of the measurement's
        domain.
    d_in : int, optional
        Distance of neighbouring inputs in the measurement's metric; by default that of one unit, for the
        metrics of data sets.
    bound : str
        What was done to every row, in words.

    Returns
    -------
    ReleasedFunction
        To evaluate, draw, save and compose as any other. Of its privacy loss no more is known than the
        guarantee.

    Raises
    ------
    ParameterError
        If lengths differ, or it is not known what one unit is in the measurement's metric.
    """
    choice(law, "law", ("laplace", "gaussian"))
    axis, who = Domain.of(domain), PrivacyUnit.of(unit)
    if axis.grid_points is None:
        raise ParameterError("domain", "have grid points", "none", "Give Domain(grid_points).")
    means = reals(values, "values")
    grid = np.asarray(axis.grid_points, dtype=np.float64)
    if means.shape != grid.shape:
        raise ParameterError("values", f"be {grid.size}, one a grid point", f"shape {means.shape}")
    scales = np.broadcast_to(reals(scale, "scale"), means.shape)
    if not np.all(scales > 0):
        raise ParameterError("scale", "be positive", "another")
    neighbours = Neighbours.parse(who.neighbours)
    count = _divisor(measurement, size, neighbours)
    exponent = PLACES - math.floor(math.log2(float(scales.min()) * count))
    sums = [round(math.ldexp(float(mean) * count, exponent)) for mean in means]
    widths = tuple(round(math.ldexp(float(width) * count, exponent)) for width in scales)
    ends = check_domain(axis.domain_range, grid)
    functions = CosineBasis.on_grid(grid.size, grid, ends) if basis is None else basis
    guarantee = guarantee_of(measurement, one_unit(measurement, neighbours) if d_in is None else d_in)
    certificate = Certificate.charged(
        {WHOLE: Cost(guarantee)},
        neighbours,
        who.name or "record",
        {"description": bound},
        {"name": "OpenDP", "measure": str(measurement.output_measure), "noise": law},
    )
    return ReleasedFunction(
        basis=functions,
        noisy_sum=tuple(sums),
        exponent=exponent,
        divisor=count,
        shrinkage=np.ones(grid.size),
        center=np.zeros(grid.size),
        noise=GaussianNoise(widths) if law == "gaussian" else KNormNoise((1,) * grid.size, widths),
        certificate=certificate,
        about={"summary": "mean curve", "standardized": False, **(axis.labels or {}), **stamp()},
        synthesis=functions.analysis.T,
    )


def _divisor(measurement: Measurement, size: int | None, neighbours: Neighbours) -> float:
    """The number of rows where it is public; the values are means already."""
    if neighbours is Neighbours.ADD_REMOVE:
        return 1.0
    try:
        stated = shape(measurement.input_domain)[0] if size is None else whole(size, "size", 1)
    except ParameterError:
        stated = None
    if stated is None:
        raise ParameterError("size", "be given where the measurement's domain has none", "None")
    return float(stated)


def shape(domain: InputDomain) -> tuple[int | None, int | None]:
    """Public size and number of columns of the data; None where they are not stated."""
    name = str(domain)
    if name.startswith("VectorDomain(AtomDomain("):
        return domain.size, None
    described = getattr(domain, "descriptor", None) if name.startswith("NPArray2Domain") else None
    if described is None or described.num_columns is None:
        words = "be dp.numpy.array2_domain(T=float, num_columns=m), or dp.vector_domain of floats"
        raise ParameterError("input_domain", words, name.partition("(")[0])
    return described.size, described.num_columns


def units_at(metric: Metric, neighbours: Neighbours) -> Callable[[int], int]:
    """In how many units data sets at a distance differ."""
    name = str(metric).removesuffix("()")
    if name not in (*CHANGES, *EDITS):
        names = "change_one_distance, hamming_distance, symmetric_distance or insert_delete_distance"
        raise ParameterError("input_metric", f"be {names}", name)
    if neighbours is Neighbours.REPLACE_ONE:
        return (lambda d_in: d_in) if name in CHANGES else (lambda d_in: d_in // 2)
    return (lambda d_in: 2 * d_in) if name in CHANGES else (lambda d_in: d_in)


def one_unit(measurement: Measurement, neighbours: Neighbours) -> int:
    """The distance of data sets that differ in one unit."""
    metric = measurement.input_metric
    name = str(metric).removesuffix("()")
    if name in EDITS or (name in CHANGES and neighbours is Neighbours.REPLACE_ONE):
        return next(d_in for d_in in (1, 2) if units_at(metric, neighbours)(d_in) == 1)
    words = f"have a metric that counts rows, under {neighbours} neighbours"
    raise ParameterError("measurement", words, name, "Give d_in, the distance of neighbouring inputs.")


__all__ = [
    "as_release", "guarantee_of", "make_classification", "make_components", "make_covariance",
    "make_density", "make_mean", "make_regression",
]  # fmt: skip
