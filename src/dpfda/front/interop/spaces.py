"""Domains and metrics of OpenDP: the public shape of data, and in how many units data sets differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Neighbours

if TYPE_CHECKING:
    from opendp.mod import Domain, Measurement, Metric

# Metrics that count changed rows; those that count added and removed rows.
CHANGES, EDITS = ("ChangeOneDistance", "HammingDistance"), ("SymmetricDistance", "InsertDeleteDistance")


def shape(domain: Domain) -> tuple[int | None, int | None]:
    """Public size and number of columns of the data; None where they are not said."""
    name = str(domain)
    if name.startswith("VectorDomain(AtomDomain("):
        return domain.size, None
    described: Any = getattr(domain, "descriptor", None) if name.startswith("NPArray2Domain") else None
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
