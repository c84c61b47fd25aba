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

from dpfda.covariance.estimator import PrivateCovariance
from dpfda.covariance.fpca import PrivateFPCA
from dpfda.density.estimator import PrivateDensity
from dpfda.front.interop.outputs import as_release, guarantee_of, shape, units_at
from dpfda.machines.classification import PrivateKernelClassifier
from dpfda.machines.regression import PrivateKernelRegressor
from dpfda.mean.estimator import PrivateMean
from dpfda.numerics.arrays import Cells
from dpfda.numerics.errors import DataError, ParameterError, needed
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import for_group
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.publication import already_charged
from dpfda.spine.estimator import Estimator

if TYPE_CHECKING:
    from opendp.mod import Domain, Measure, Measurement, Metric

    from dpfda.releases.base import Release

Distance = float | tuple[float, float]
Made = TypeVar("Made", bound=Estimator)


def make_mean(input_domain: Domain, input_metric: Metric, estimator: PrivateMean) -> Measurement:
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


def make_density(input_domain: Domain, input_metric: Metric, estimator: PrivateDensity) -> Measurement:
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
    input_domain: Domain, input_metric: Metric, estimator: PrivateCovariance
) -> Measurement:
    """The covariance of curves as a measurement of OpenDP, whose output is a `ReleasedCovariance`.

    Parameters as in `make_mean`.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateCovariance)


def make_components(input_domain: Domain, input_metric: Metric, estimator: PrivateFPCA) -> Measurement:
    """Principal components as a measurement of OpenDP, whose output are `ReleasedComponents`.

    Parameters as in `make_mean`.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateFPCA)


def make_regression(
    input_domain: Domain, input_metric: Metric, estimator: PrivateKernelRegressor
) -> Measurement:
    """A regression function as a measurement of OpenDP, whose output is a released predictor.

    Parameters as in `make_mean`; the last column of the data is the target.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateKernelRegressor)


def make_classification(
    input_domain: Domain, input_metric: Metric, estimator: PrivateKernelClassifier
) -> Measurement:
    """A classification function as a measurement of OpenDP, whose output is a released predictor.

    Parameters as in `make_mean`; the last column of the data is the class, one of two numbers.
    """
    return _measurement(input_domain, input_metric, estimator, PrivateKernelClassifier)


def _measurement(
    domain: Domain, metric: Metric, estimator: object, kind: type[Estimator]
) -> Measurement:
    with needed("opendp", "opendp", "A measurement"):
        import opendp.prelude as dp
    if not isinstance(estimator, kind):
        raise ParameterError("estimator", f"be a {kind.__name__}", shown(estimator))
    copied = _in_floats(estimator)
    settings = copied.settings
    if settings.reading.invalid != "repair":
        raise ParameterError(
            "estimator",
            "repair records that cannot be used, so that no row makes a measurement fail",
            f"invalid={settings.reading.invalid!r}",
            'Give invalid="repair": such rows then count as a fixed public one.',
        )
    size, columns = shape(domain)
    neighbours = Neighbours.parse(settings.unit.neighbours)
    if neighbours is Neighbours.REPLACE_ONE and size is None:
        raise ParameterError(
            "input_domain",
            "state its size, which replace-one neighbours make public",
            "none",
            'Give size=n, or neighbours="add-remove" to the estimator.',
        )
    supervised = kind in (PrivateKernelRegressor, PrivateKernelClassifier)
    units, guarantee = units_at(metric, neighbours), copied.asked()

    def released(data: object) -> Release:
        rows = _rows(data, size, columns)
        # OpenDP counts, and draws as often as it allows.
        with already_charged():
            parts = (rows[:, :-1], rows[:, -1]) if supervised else (rows,)
            release: Release = _clone(copied).fit(*parts).release_
        return release

    def lost(d_in: int) -> Distance:
        return _lost(guarantee, units(d_in))

    made: Measurement = dp.m.make_user_measurement(
        domain, metric, _measure(dp, guarantee), released, lost
    )
    return made


def _clone(estimator: Made) -> Made:
    from sklearn.base import clone

    copied: Made = clone(estimator)
    return copied


def _in_floats(estimator: Made) -> Made:
    """A copy whose guarantee is of floats, at or below what was asked: OpenDP knows no other numbers."""
    copied, asked = _clone(estimator), estimator.asked()
    return copied.set_params(
        **{term: Fraction(_rounded(getattr(asked, term), up=False)) for term in asked.terms}
    )


def _rounded(value: Fraction, up: bool) -> float:
    """The nearest float that is not below, or not above, a number that is not negative."""
    found = float(value)
    beyond = Fraction(found) < value if up else Fraction(found) > value
    return math.nextafter(found, math.inf if up else 0.0) if beyond else found


def _measure(dp: ModuleType, guarantee: Guarantee) -> Measure:
    made: dict[type, Callable[[], Measure]] = {
        PureDP: dp.max_divergence,
        ApproximateDP: lambda: dp.approximate(dp.max_divergence()),
        ZeroConcentratedDP: dp.zero_concentrated_divergence,
    }
    return made[type(guarantee)]()


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
    found: Mapping[str, tuple[int | None, int | None]] = {
        "rows": (size, len(values)),
        "columns": (columns, values.shape[1] if values.ndim == 2 else None),
    }
    for what, (wanted, got) in found.items():
        if wanted is not None and wanted != got:
            raise DataError(f"The data must have {wanted} {what}, as their domain says; found others.")
    return values


__all__ = [
    "as_release",
    "guarantee_of",
    "make_classification",
    "make_components",
    "make_covariance",
    "make_density",
    "make_mean",
    "make_regression",
]
