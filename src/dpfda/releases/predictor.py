"""The released regression or classification function: coefficients of public features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpfda.bounds import IntegerBall
from dpfda.errors import ParameterError
from dpfda.noise import NoiseLaw
from dpfda.numerics.parameters import reals
from dpfda.privacy.certificates import Certificate, Certified
from dpfda.records.features import FeatureMap, InputBox, embedded, feature_ball

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
CURVE_POINTS, FIELD_POINTS = 401, 81
# What holds every example in bounds.
BOUND = "inputs and targets clipped to public bounds, features to length one"


@dataclass(frozen=True, eq=False)
class ReleasedPredictor(Certified):
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
        What it promises to whom, and what it cost: with the road, the penalty and other public tuning.
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
    >>> machine = PrivateKernelRegressor(bounds=(0, 1), target_bounds=(-1, 1))
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

    def __post_init__(self) -> None:
        coefficients = np.array(self.coefficients, dtype=np.float64)
        if coefficients.shape != (self.features.components,):
            raise ParameterError(
                "coefficients", f"be {self.features.components} numbers", f"shape {coefficients.shape}"
            )
        coefficients.setflags(write=False)
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "about", MappingProxyType(dict(self.about)))

    def __getstate__(self) -> dict[str, Any]:
        # A read-only view of a mapping cannot be pickled; a copy of what it shows can.
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

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
        """Values of the function.

        Parameters
        ----------
        points : array (q, d); (q,) where d = 1
            In the units of the inputs.

        Returns
        -------
        array (q,)
            In units of the target; for classification the decision function.

        Raises
        ------
        ParameterError
            If the points have another shape or are not finite.
        """
        at = self._points(points)
        rows = embedded(self.features, self._ball, self.inputs.scaled(at)) * self._ball.unit
        return np.asarray(self.center + self.half_width * (rows @ self.coefficients))

    def predict(self, points: ArrayLike) -> NDArray[Any]:
        """Predicted targets, inside their public bounds; or predicted classes.

        Parameters
        ----------
        points : array (q, d)
        """
        values = self(points)
        if self.task == "classification":
            return np.asarray(np.array(self.classes)[(values > 0).astype(np.intp)])
        return np.clip(values, self.center - self.half_width, self.center + self.half_width)

    def predict_proba(self, points: ArrayLike) -> Floats:
        """Probabilities (q, 2) of the two classes, for the logistic loss.

        Raises
        ------
        ParameterError
            For another loss, which has no probabilities.
        """
        if self.loss != "logistic" or self.task != "classification":
            raise ParameterError("loss", "be 'logistic' for probabilities", repr(self.loss))
        second = expit(self(points))
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

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the function of one or two inputs over their bounds on a matplotlib axis.

        Raises
        ------
        ParameterError
            For more than two inputs.
        MissingExtraError
            If matplotlib is not installed.
        """
        from dpfda.releases.plotting import plot_predictor

        return plot_predictor(self, ax)

    def save(self, path: str | Path) -> Path:
        """Write a JSON file that `load` reads back exactly."""
        from dpfda.releases.storage import save_as

        return save_as("dpfda-predictor", self, path)

    @staticmethod
    def load(path: str | Path) -> ReleasedPredictor:
        """Read a released predictor from a JSON file.

        Raises
        ------
        StorageError
            If the file is missing, of another kind or damaged.
        """
        from dpfda.releases.storage import load_kind

        predictor: ReleasedPredictor = load_kind(path, "dpfda-predictor")
        return predictor

    def __repr__(self) -> str:
        classes = f", classes {self.classes[0]!r} and {self.classes[1]!r}" if self.classes else ""
        plural = "" if self.dimensions == 1 else "s"
        return "\n".join(
            [
                f"ReleasedPredictor ({self.task} on {self.dimensions} input{plural}{classes})",
                f"  guarantee:    {self.guarantee}",
                f"  neighbours:   {self.neighbours.describe(self.unit)}",
                f"  privacy unit: {self.unit}",
                f"  loss:         {self.loss}, penalty {self.mechanism['psi']:.3g}",
                f"  features:     {self.features.describe()}",
                f"  road:         {self.mechanism['name']}: {self.noise.describe()}",
            ]
        )
