"""What released regression and classification functions share: values, predictions, pictures, tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.grids import middles, product_points
from dpfda.numerics.arrays import Cells, Flags, Floats
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.numerics.words import so_many
from dpfda.privacy.guarantees import Neighbours
from dpfda.records.features import InputBox
from dpfda.releases.bands import Asked, Band
from dpfda.releases.base import LEVEL, Banded, Column
from dpfda.views import Line, Table, View
from dpfda.views.shapes import check_drawn

# Cells of a picture along each of two inputs.
CELLS = 121
# Inputs that a report names.
LONGEST = 8
# Where pictures are faded, by the task.
FADED = {
    "regression": "Pictures are faded or dotted where a band {where} is wider than half of the bounds.",
    "classification": (
        "Pictures are faded or dotted where a band {where} leaves open which class is predicted."
    ),
}


def deciding(values: Floats) -> NDArray[np.intp]:
    """Places (q,) of the classes that are predicted, from decision functions (q,) or (q, C)."""
    if values.ndim == 2:
        return np.asarray(values.argmax(axis=1))
    return (values > 0).astype(np.intp)


class Predictor(Banded):
    """A function of inputs, learned from private examples and released.

    A kind says its `task`, public `inputs` and `classes`, `center` and `half_width` of a regression's
    target, its number `size` of units, and values and bands.
    """

    # What the second of two classes is predicted above; and whether pictures show the band everywhere.
    _border: ClassVar[float] = 0.0
    _whole: ClassVar[bool] = False
    # Points of a table along one input, and along each of two.
    _fine: ClassVar[tuple[int, int]] = (401, 81)
    # What the values of several classes are.
    _value: ClassVar[str] = "decision function"

    if TYPE_CHECKING:

        @property
        def task(self) -> str: ...
        @property
        def inputs(self) -> InputBox: ...
        @property
        def classes(self) -> tuple[object, ...]: ...
        @property
        def center(self) -> float: ...
        @property
        def half_width(self) -> float: ...
        @property
        def size(self) -> int: ...
        @property
        def has_probabilities(self) -> bool: ...

        def __call__(self, points: ArrayLike) -> Floats: ...

    @property
    def dimensions(self) -> int:
        """Number d of inputs."""
        return self.inputs.lower.size

    @property
    def domain_range(self) -> tuple[tuple[float, float], ...]:
        """Bounds of each input."""
        return tuple(zip(self.inputs.lower.tolist(), self.inputs.upper.tolist(), strict=True))

    @property
    def public_units(self) -> int | None:
        return self.size if self.neighbours is Neighbours.REPLACE_ONE else None

    def decisions(self, points: ArrayLike) -> Floats:
        """Decision function (q,) at points (q, d), positive for the second class; of more (q, C)."""
        return self(points) - (0.0 if self._several else self._border)

    def predict(self, points: ArrayLike) -> Cells:
        """Predicted targets at points (q, d), which are the values; or predicted classes."""
        if self.task == "classification":
            return np.asarray(np.array(self.classes)[deciding(self.decisions(points))])
        return self(points)

    def predict_proba(self, points: ArrayLike) -> Floats:
        """Probabilities (q, 2) or (q, C) of the classes, where there are any.

        Raises
        ------
        ParameterError
            Of a regression, or of scores.
        """
        raise NotImplementedError

    def _points(self, points: ArrayLike) -> Floats:
        at = reals(points, "points")
        if at.ndim <= 1 and self.dimensions == 1:
            at = np.atleast_1d(at)[:, None]
        if at.ndim != 2 or at.shape[1] != self.dimensions:
            raise ParameterError("points", f"have shape (q, {self.dimensions})", f"{at.shape}")
        if not np.all(np.isfinite(at)):
            raise ParameterError("points", "be finite", "NaN or infinity")
        return at

    # Tables and pictures.

    @property
    def _axes(self) -> dict[str, tuple[float, float]]:
        # Inputs outside their bounds are moved to them, so that any will do.
        return dict.fromkeys(super()._axes, (-np.inf, np.inf))

    def _axis_label(self, axis: int) -> str:
        return self._names[axis]

    def _default_points(self) -> Floats:
        check_drawn(self.dimensions, "Name points.")
        count = self._fine[self.dimensions - 1]
        return product_points([np.linspace(*ends, count) for ends in self.domain_range])

    def _band_points(self) -> Floats:
        # How wide a band is does not depend on where else it is asked for.
        return self._default_points() if self.dimensions <= 2 else np.empty((0, self.dimensions))

    def view(self, level: float | None = LEVEL) -> View:
        check_drawn(self.dimensions, "Draw its values along two inputs.")
        if self.dimensions == 1:
            decides = self.task == "classification" and not self._several
            return self._curve(self._drawn_lines(level), self._border if decides else None)
        at = product_points([middles(ends, CELLS) for ends in self.domain_range])
        drawn = self._drawn_values
        if level is not None and not self._bandless:
            drawn["faded"] = self._lost(at, level).reshape(CELLS, CELLS)
        values = deciding(self(at)).astype(np.float64) if self._several else self(at)
        first, second = self.domain_range
        return replace(self._image(values.reshape(CELLS, CELLS)), extent=(first, second), **drawn)

    @property
    def _drawn_values(self) -> Json:
        """How values over two inputs are drawn."""
        if self._several:
            return {"names": tuple(map(str, self.classes))}
        if self.task == "classification":
            return {"signed": not self._border, "contour": self._border}
        return {}

    def _lost(self, at: Floats, level: float) -> Flags:
        """Where little is known: a band that is wider than half of the bounds.

        For classes where the band leaves open which is predicted.
        """
        band = self._safe_band(at, level)
        if self._several:
            order = np.arange(len(at)), deciding(self(at))
            rivals = band.upper.copy()
            rivals[order] = -np.inf
            return np.asarray(band.lower[order] < rivals.max(axis=1))
        if self.task == "classification":
            return np.asarray((band.lower < self._border) & (band.upper > self._border))
        return np.asarray(band.upper - band.lower > self.half_width)

    def _safe_band(self, at: Floats, level: float) -> Band:
        """The band that tells where little is known."""
        return self.band(level, False, at)

    def _drawn_lines(self, level: float | None) -> list[Line]:
        """The line, or one a class, with its band, and dotted where little is known."""
        at = self._default_points()
        names = list(map(str, self.classes)) if self._several else ["released function"]
        values = self(at).reshape(len(at), -1).T
        if level is None or self._bandless:
            return [Line(at[:, 0], line, name) for name, line in zip(names, values, strict=True)]
        band, lost, words = (
            self.band(level, self._whole, at),
            self._lost(at, level),
            self._band_words(level) + ("" if self._whole else ", at each point"),
        )
        lower, upper = (end.reshape(len(at), -1).T for end in (band.lower, band.upper))
        lines = [
            Line(at[:, 0], np.where(lost, np.nan, line), name, low, high, words)
            for name, line, low, high in zip(names, values, lower, upper, strict=True)
        ]
        if lost.any():
            # Of several classes that of the one which is predicted.
            guessed = np.where(lost, values.max(axis=0), np.nan)
            lines.append(Line(at[:, 0], guessed, "little is known", stroke="dotted"))
        return lines

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        banded = not self._bandless
        if not self._several:
            value = {"value": (self(at), self._value_label)}
            return value | (self._band_columns(at, asked) if banded else {})
        ends = self._band_columns(at, asked) if banded else {}
        columns = {}
        for place, (own, values) in enumerate(self._functions(at).items()):
            columns[own] = values, self._decision
            columns |= {f"{own}, {end}": (v[:, place], words) for end, (v, words) in ends.items()}
        return columns

    def _with_predictions(self, table: Table) -> Table:
        if not self.classes:
            return table
        at = np.column_stack([table.columns[name] for name in self._axes])
        columns = {**table.columns, "predicted": self.predict(at)}
        return Table(columns, {**table.meanings, "predicted": "class predicted"})

    def _functions(self, at: Floats) -> dict[str, Floats]:
        if not self._several:
            return super()._functions(at)
        return {f"class {label}": v for label, v in zip(self.classes, self(at).T, strict=True)}

    # Words.

    @property
    def _several(self) -> bool:
        """Whether there is one function a class."""
        return len(self.classes) > 2

    @property
    def _names(self) -> list[str]:
        names = [name.strip() for name in str(self.about.get("domain", "")).split(",")]
        if len(names) == self.dimensions and names[0]:
            return names
        return ["input"] if self.dimensions == 1 else [f"input {i + 1}" for i in range(self.dimensions)]

    @property
    def _subject(self) -> str:
        return f"{self.task} function"

    @property
    def _value_label(self) -> str:
        if self.task != "classification":
            return str(self.about.get("value", "target"))
        # A picture over two inputs shows the classes that are predicted.
        if self._several and self.dimensions > 1:
            return f"predicted {self.about.get('value', 'class')}"
        return self._decision

    @property
    def _decision(self) -> str:
        rule = "the largest decides" if self._several else f"above {self._border:g}: {self.classes[1]}"
        label = f"{self._value} {self.about.get('value', '')}".rstrip()
        return f"{label} ({rule})"

    @property
    def _said_inputs(self) -> str:
        return so_many(self.dimensions, "input")

    @property
    def _public(self) -> list[str]:
        """What is public of inputs and target, in words."""
        bounds = [
            f"{name} from {low:g} to {high:g}"
            for name, (low, high) in zip(self._names, self.domain_range, strict=True)
        ]
        more = f" and {len(bounds) - LONGEST} more" if len(bounds) > LONGEST else ""
        low, high = self.center - self.half_width, self.center + self.half_width
        classes = (", " if self._several else " and ").join(map(repr, self.classes))
        target = f"the bounds of the target: {low:g} to {high:g}"
        return [
            f"the bounds of the inputs: {', '.join(bounds[:LONGEST])}{more}; values outside were "
            "moved to the nearer bound",
            f"the classes: {classes}" if classes else target,
        ]

    @property
    def _headline(self) -> str:
        *rest, last = map(repr, self.classes) if self.classes else ("",)
        classes = f", classes {', '.join(rest)} and {last}" if rest else ""
        return f"({self.task} on {self._said_inputs}{classes})"
