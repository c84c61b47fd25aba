"""The choice of a mechanism from public numbers, its expected error, and what none can go below."""

from dpfda.mechanisms.design.choice import (
    adapted,
    choose,
    counted_power,
    public_curves,
    public_mixture,
    with_count,
    with_sides,
)
from dpfda.mechanisms.design.expectation import ExpectedError, expected_error
from dpfda.mechanisms.design.images import public_images
from dpfda.mechanisms.design.limits import least_error, least_error_of_any, least_share_of_box
from dpfda.mechanisms.design.lines import UNSTATED, Shape, distance_share, distance_sides, worth_sides

__all__ = [
    "ExpectedError", "Shape", "UNSTATED", "adapted", "choose", "counted_power", "distance_share",
    "distance_sides", "expected_error", "least_error", "least_error_of_any", "least_share_of_box",
    "public_curves", "public_images", "public_mixture", "with_count", "with_sides", "worth_sides",
]  # fmt: skip
