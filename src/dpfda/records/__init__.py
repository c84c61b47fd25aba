"""Private records as they come in: checks, layouts, missing values, privacy units."""

from dpfda.records.curves import Curves, curves_from_array, standardized, units
from dpfda.records.long import LongCurves, curves_from_long

__all__ = ["Curves", "LongCurves", "curves_from_array", "curves_from_long", "standardized", "units"]
