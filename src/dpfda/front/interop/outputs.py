"""What OpenDP says of data and of outputs; its outputs as releases, with guarantee and band."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis, CosineBasis
from dpfda.bases.grids import check_domain
from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, reals, whole
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.publication import stamp
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.settings import Domain, PrivacyUnit

if TYPE_CHECKING:
    from opendp.mod import Domain as InputDomain
    from opendp.mod import Measurement, Metric

# Metrics that count changed rows; those that count added and removed rows.
CHANGES, EDITS = ("ChangeOneDistance", "HammingDistance"), ("SymmetricDistance", "InsertDeleteDistance")
# Scales of noise are integers of at least so many binary places.
PLACES = 40


def guarantee_of(measurement: Measurement, d_in: int = 1) -> Guarantee:
    """What OpenDP says of a measurement at a distance, as a guarantee; floats are taken exactly.

    Raises
    ------
    ParameterError
        If its measure is another than maximal, approximate or zero-concentrated divergence.
    """
    mapped: Any = measurement
    measure, lost = str(mapped.output_measure), mapped.map(d_in)
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
    given, who = Domain.of(domain), PrivacyUnit.of(unit)
    if given.grid_points is None:
        raise ParameterError("domain", "have grid points", "none", "Give Domain(grid_points).")
    means = reals(values, "values")
    grid = np.asarray(given.grid_points, dtype=np.float64)
    if means.shape != grid.shape:
        raise ParameterError("values", f"be {grid.size}, one a grid point", f"shape {means.shape}")
    scales = np.broadcast_to(reals(scale, "scale"), means.shape)
    if not np.all(scales > 0):
        raise ParameterError("scale", "be positive", "another")
    neighbours = Neighbours.parse(who.neighbours)
    count = _divisor(measurement, size, neighbours)
    exponent = PLACES - math.floor(math.log2(float(scales.min()) * count))
    sums = [round(math.ldexp(float(mean) * count, exponent)) for mean in means]
    widths = tuple(round(math.ldexp(float(each) * count, exponent)) for each in scales)
    ends = check_domain(given.domain_range, grid)
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
        about={"summary": "mean curve", "standardized": False, **(given.labels or {}), **stamp()},
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
    """Public size and number of columns of the data; None where they are not said."""
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
        known = "change_one_distance, hamming_distance, symmetric_distance or insert_delete_distance"
        raise ParameterError("input_metric", f"be {known}", name)
    if neighbours is Neighbours.REPLACE_ONE:
        return (lambda d_in: d_in) if name in CHANGES else (lambda d_in: d_in // 2)
    return (lambda d_in: 2 * d_in) if name in CHANGES else (lambda d_in: d_in)


def one_unit(measurement: Measurement, neighbours: Neighbours) -> int:
    """The distance of data sets that differ in one unit."""
    name = str(measurement.input_metric).removesuffix("()")
    distances = {
        Neighbours.REPLACE_ONE: dict.fromkeys(CHANGES, 1) | dict.fromkeys(EDITS, 2),
        Neighbours.ADD_REMOVE: dict.fromkeys(EDITS, 1),
    }[neighbours]
    if name not in distances:
        words = f"have a metric that counts rows, under {neighbours} neighbours"
        raise ParameterError(
            "measurement", words, name, "Give d_in, the distance of neighbouring inputs."
        )
    return distances[name]
