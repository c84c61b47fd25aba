"""What a release shows: curves with bands, images, tables; drawn and written without knowing kinds."""

from dpfda.views.drawing import draw, draw_beside, draw_panels, given_axis
from dpfda.views.shapes import Curve, Image, Line, Panels, Table, View, aligned, to_csv, to_frame

__all__ = [
    "Curve", "Image", "Line", "Panels", "Table", "View", "aligned", "draw", "draw_beside", "draw_panels",
    "given_axis", "to_csv", "to_frame",
]  # fmt: skip
