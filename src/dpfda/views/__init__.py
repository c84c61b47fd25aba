"""What a release shows: curves with bands, images, tables; drawn and written without knowing kinds."""

from typing import TYPE_CHECKING

from dpfda.numerics.later import later

if TYPE_CHECKING:
    from dpfda.views.drawing import draw, draw_beside, draw_panels, given_axis
    from dpfda.views.shapes import Curve, Image, Line, Panels, Table, View, aligned, to_csv, to_frame
else:
    __getattr__ = later(__name__)

__all__ = [
    "Curve",
    "Image",
    "Line",
    "Panels",
    "Table",
    "View",
    "aligned",
    "draw",
    "draw_beside",
    "draw_panels",
    "given_axis",
    "to_csv",
    "to_frame",
]
