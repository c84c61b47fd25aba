"""The released regression or classification function: coefficients of public features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.grids import frozen, product_points
from dpfda.bounds import IntegerBall
from dpfda.errors import ParameterError
from dpfda.noise import NoiseLaw, law_from_json
from dpfda.numerics.encoding import (
    array_from_json,
    array_to_json,
    floats,
    integer,
    mapping,
    name,
    number,
)
from dpfda.numerics.parameters import reals
from dpfda.privacy.certificates import Certificate
from dpfda.records.features import FeatureMap, InputBox, embedded, feature_ball, features_from_json
from dpfda.releases.base import LEVEL, Release
from dpfda.releases.boxes import check_drawn
from dpfda.releases.costs import certified, one_cost, sum_costs
from dpfda.releases.words import Words
from dpfda.views import Line, View

Floats = NDArray[np.float64]
# Points of a table of one or two inputs; cells of a picture along each of two.
CURVE_POINTS, FIELD_POINTS, CELLS = 401, 81, 121
# Inputs that a report names.
LONGEST = 8
# What holds every example in bounds.
BOUND = "inputs and targets clipped to public bounds, features to length one"


@dataclass(frozen=True, eq=False)
class ReleasedPredictor(Release):
    """A function of one or more inputs, learned from private examples and released.

    Call it at any points, as often as anyone likes: everything in it is public. Inputs outside their
    bounds are moved to the nearest bound, as those of the private examples were.

    Parameters
    ----------
    task : {"regression", "classification"}
    inputs : InputBox
        Public bounds of the input columns, in their units.
    features : FeatureMap
        Public features of the inputs.
    coefficients : array (K,)
        Noisy coefficients of the features, on the scale of targets in [-1, 1].
    center, half_width : float
        Regression: the middle of the target bounds and half their distance, in units of the target; a
        value is center + half_width * (coefficients . features). Classification: 0 and 1.
    classes : tuple
        Classification: the two public classes; the second is predicted where the function is positive.
    loss : str
        The loss that was minimised.
    certificate : Certificate
        What it promises to whom, and what it cost: with the solver, the penalty and other public tuning.
    size : int
        Public number of privacy units.
    noise : NoiseLaw
        Law of the last noise that was added to the integers behind the coefficients.
    about : mapping
        Versions, date, words for the axes.

    Examples
    --------
    >>> from dpfda import PrivateKernelRegressor
    >>> x = np.linspace(0, 1, 400)
    >>> machine = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(-1, 1))
    >>> machine.fit(x[:, None], np.sin(6 * x)).release_([0.25, 0.75]).shape
    (2,)
    """

    task: str
    inputs: InputBox
    features: FeatureMap
    coefficients: Floats
    center: float
    half_width: float
    classes: tuple[Any, ...]
    loss: str
    certificate: Certificate
    size: int
    noise: NoiseLaw
    about: Mapping[str, Any] = field(default_factory=dict)

    FORMAT: ClassVar[str] = "dpfda-predictor"
    CALLED: ClassVar[str] = "released predictor"
    arrays: ClassVar[tuple[str, ...]] = ("coefficients",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coefficients.shape != (self.features.components,):
            found = f"shape {self.coefficients.shape}"
            raise ParameterError("coefficients", f"be {self.features.components} numbers", found)

    @property
    def dimensions(self) -> int:
        """Number d of inputs."""
        return self.features.inputs

    @property
    def domain_range(self) -> tuple[tuple[float, float], ...]:
        """Bounds of each input."""
        return tuple(zip(self.inputs.lower.tolist(), self.inputs.upper.tolist(), strict=True))

    @cached_property
    def _ball(self) -> IntegerBall:
        return feature_ball(self.features.components)

    def __call__(self, points: ArrayLike) -> Floats:
        """Values of the function, cut at the public bounds of the target.

        Parameters
        ----------
        points : array (q, d); (q,) where d = 1
            In the units of the inputs.

        Returns
        -------
        array (q,)
            In units of the target; for classification the decision function, which is not bounded.

        Raises
        ------
        ParameterError
            If the points have another shape or are not finite.
        """
        at = self._points(points)
        rows = embedded(self.features, self._ball, self.inputs.scaled(at)) * self._ball.step
        values = np.asarray(self.center + self.half_width * (rows @ self.coefficients))
        if self.task == "classification":
            return values
        return np.clip(values, self.center - self.half_width, self.center + self.half_width)

    def predict(self, points: ArrayLike) -> NDArray[Any]:
        """Predicted targets, which are the values; or predicted classes.

        Parameters
        ----------
        points : array (q, d)
        """
        values = self(points)
        if self.task == "classification":
            return np.asarray(np.array(self.classes)[(values > 0).astype(np.intp)])
        return values

    def predict_proba(self, points: ArrayLike) -> Floats:
        """Probabilities (q, 2) of the two classes, for the logistic loss.

        Raises
        ------
        ParameterError
            For another loss, which has no probabilities.
        """
        if self.loss != "logistic" or self.task != "classification":
            raise ParameterError("loss", "be 'logistic' for probabilities", repr(self.loss))
        second = scipy.special.expit(self(points))
        return np.column_stack([1.0 - second, second])

    def _points(self, points: ArrayLike) -> Floats:
        at = reals(points, "points")
        if at.ndim <= 1 and self.dimensions == 1:
            at = np.atleast_1d(at)[:, None]
        if at.ndim != 2 or at.shape[1] != self.dimensions:
            raise ParameterError("points", f"have shape (q, {self.dimensions})", f"{at.shape}")
        if not np.all(np.isfinite(at)):
            raise ParameterError("points", "be finite", "NaN or infinity")
        return at

    # Its file.

    def to_entries(self) -> dict[str, Any]:
        return {
            "units": self.size,
            "task": self.task,
            "loss": self.loss,
            "classes": list(self.classes),
            "center": self.center,
            "half_width": self.half_width,
            "lower": self.inputs.lower.tolist(),
            "upper": self.inputs.upper.tolist(),
            "coefficients": array_to_json(self.coefficients),
            "noise": self.noise.to_json(),
            "features": self.features.to_json(),
        }

    @classmethod
    def from_json(cls, written: dict[str, Any], kernel: Any = None) -> Self:
        features, noise = features_from_json(written["features"]), law_from_json(written["noise"])
        ends = [floats(written[end]) for end in ("lower", "upper")]
        if any(end.shape != (features.inputs,) for end in ends):
            raise ValueError("bounds and features differ in number")
        # A perturbed objective spends epsilon before the noise that the file holds.
        one_sum = written["mechanism"]["name"] in ("output", "sums")
        return cls(
            task=name(written["task"]),
            inputs=InputBox.of([frozen(end) for end in ends], features.inputs),
            features=features,
            coefficients=array_from_json(written["coefficients"]),
            center=number(written["center"]),
            half_width=number(written["half_width"]),
            classes=tuple(written["classes"]),
            loss=name(written["loss"]),
            certificate=certified(
                written,
                partial(sum_costs, noise, 1.0) if one_sum else one_cost,
                lambda: ({"description": BOUND}, written["mechanism"]),
                [noise],
            ),
            size=integer(written["units"], 0),
            noise=noise,
            about=mapping(written["about"]),
        )

    # Tables, pictures and words.

    @property
    def axes(self) -> dict[str, tuple[float, float]]:
        # Inputs outside their bounds are moved to them, so that any will do.
        return dict.fromkeys(super().axes, (-np.inf, np.inf))

    def axis_label(self, axis: int) -> str:
        return self._names[axis]

    @property
    def _names(self) -> list[str]:
        names = [name.strip() for name in str(self.about.get("domain", "")).split(",")]
        if len(names) == self.dimensions and names[0]:
            return names
        return ["input"] if self.dimensions == 1 else [f"input {i + 1}" for i in range(self.dimensions)]

    def default_points(self) -> Floats:
        check_drawn(self.dimensions, "Name points.")
        if self.dimensions == 1:
            return np.linspace(*self.domain_range[0], CURVE_POINTS)[:, None]
        return product_points([np.linspace(*ends, FIELD_POINTS) for ends in self.domain_range])

    def view(self, level: float | None = LEVEL) -> View:
        check_drawn(self.dimensions, "Draw its values along two inputs.")
        decision = self.task == "classification"
        if self.dimensions == 1:
            at = self.default_points()[:, 0]
            return self.curve([Line(at, self(at), "released function")], 0.0 if decision else None)
        middles = product_points(
            [a + (b - a) * (np.arange(CELLS) + 0.5) / CELLS for a, b in self.domain_range]
        )
        values = self(middles).reshape(CELLS, CELLS)
        drawn: dict[str, Any] = {"signed": True, "contour": 0.0} if decision else {}
        first, second = self.domain_range
        return replace(self.image(values, **drawn), extent=(first, second))

    @property
    def subject(self) -> str:
        return f"{self.task} function"

    @property
    def penalty(self) -> float:
        """The penalty on rough functions, which files written by earlier versions call psi."""
        return float(self.mechanism.get("penalty", self.mechanism.get("psi")))

    @property
    def made_by(self) -> str:
        return f"{self.loss} loss, noise by the {self.mechanism['name']} solver"

    @property
    def public_units(self) -> int | None:
        return self.size

    @property
    def value_label(self) -> str:
        if self.task != "classification":
            return str(self.about.get("value", "target"))
        said = f"decision function {self.about.get('value', '')}".rstrip()
        return f"{said} (above 0: {self.classes[1]})"

    def words(self) -> Words:
        inputs = f"{self.dimensions} input{'' if self.dimensions == 1 else 's'}"
        if self.classes:
            first, second = self.classes
            above = f"above zero where it predicts {second!r}, else {first!r}"
            kind = f"A function of {inputs} that is {above}."
            target = f"the classes: {first!r} and {second!r}"
        else:
            kind = f"A function of {inputs} that predicts {self.about.get('value', 'a number')}."
            low, high = self.center - self.half_width, self.center + self.half_width
            target = f"the bounds of the target: {low:g} to {high:g}"
        bounds = [
            f"{name} from {low:g} to {high:g}"
            for name, (low, high) in zip(self._names, self.domain_range, strict=True)
        ]
        more = f" and {len(bounds) - LONGEST} more" if len(bounds) > LONGEST else ""
        return Words(
            published=[
                f"{kind} Random noise was added to protect every {self.unit} behind it.",
                "It can be evaluated at any point, drawn, copied and mailed as often as anyone likes. "
                "That costs no further privacy, because it uses the published function only.",
            ],
            assumed=[
                f"- the bounds of the inputs: {', '.join(bounds[:LONGEST])}{more}; values outside were "
                "moved to the nearer bound;",
                f"- {target};",
                f"- the features: {self.features.describe()};",
                f"- the loss ({self.loss}) and the penalty on rough functions ({self.penalty:.3g});",
                f"- how the noise is made: {self.mechanism['name']} solver, {self.noise.describe()};",
                f"- the number of {self.unit}s: {self.size}.",
            ],
            accurate=[
                "There is no band: how far noise, penalty and features moved the function is not said, "
                "nor how well it predicts."
            ],
        )

    def lines(self) -> dict[str, str]:
        return {
            "loss": f"{self.loss}, penalty {self.penalty:.3g}",
            "features": self.features.describe(),
            "solver": f"{self.mechanism['name']}: {self.noise.describe()}",
        }

    def facts(self) -> dict[str, Any]:
        return {
            "units": self.size,
            "task": self.task,
            "loss": self.loss,
            "classes": list(self.classes),
            "features": self.features.describe(),
        }

    @property
    def headline(self) -> str:
        classes = f", classes {self.classes[0]!r} and {self.classes[1]!r}" if self.classes else ""
        plural = "" if self.dimensions == 1 else "s"
        return f"({self.task} on {self.dimensions} input{plural}{classes})"
