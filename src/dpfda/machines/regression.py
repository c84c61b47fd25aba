"""Kernel regression under differential privacy, as a scikit-learn regressor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from dpfda.machines.estimator import KernelMachine, column, numbers
from dpfda.machines.minimiser import Loss
from dpfda.machines.plan import Features, Solving
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import pair, shown
from dpfda.records.features.inputs import FeatureMap
from dpfda.spine.arguments import Bounds, Labels, Number, Payer, Place, Protected, Records
from dpfda.spine.base import mixin
from dpfda.spine.settings import Reading

if TYPE_CHECKING:
    from sklearn.base import RegressorMixin
    from sklearn.utils import Tags
else:
    RegressorMixin = mixin("RegressorMixin")

LOSSES = ("auto", "squared", "huber")


class PrivateKernelRegressor(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Regression under differential privacy: a table of cells, kernel ridge and Huber regression.

    By default a function of one or two inputs is found from one noisy table of counts and sums in cells,
    with a band. Of more inputs, or where a solver, a loss or features are named, the function
    f(x) = b . phi(x), in public features phi, minimises the average loss of targets, scaled from their
    public bounds to [-1, 1], plus penalty |b|^2. It is released as a whole function of the inputs.

    Parameters
    ----------
    epsilon, delta, rho, bounds
        As in `dpfda.PrivateKernelClassifier`.
    target_bounds : (lower, upper)
        Public bounds of the target, in its units; targets are clipped to them. No default.
    loss : {"auto", "huber", "squared"}, "huber:0.5" or Loss
        "auto" is huber, or squared for the sums. At the same budget huber needs far less noise, since
        its slope is bounded. Where the square turns
        into a line may follow the word, on the scale of targets in [-1, 1].
    solver : {"auto", "table", "objective", "output", "sums", "gradient"} or Solving
        Noise on a table of cells of one or two inputs; in the objective (huber), on the minimiser (both
        losses), on the sums of phi phi^T and y phi (squared), or in each step of a descent (both, with a
        delta). "auto" is "table" for one or two inputs where neither loss nor features are named; else
        "sums" for the square loss; for huber "objective", or "output" where
        there is a delta and many features. See `dpfda.machines.solvers` for what each guarantees.
        With a penalty, in a `dpfda.machines.plan.Solving`.
    features : {"auto", "linear", "quadratic", "fourier", "grid"}, Features or a feature map
        As in `dpfda.PrivateKernelClassifier`, but that "auto" is never "quadratic".
    domain, unit, ledger
        As in `dpfda.PrivateKernelClassifier`.
    reading : Reading, optional
        Whether unusable records are refused, or count as a record without features and with target 0.

    Attributes
    ----------
    release_ : TablePredictor or ReleasedPredictor
        The published function.
    n_features_in_, feature_names_in_
        As in `PrivateKernelClassifier`.

    Notes
    -----
    **Guarantee.** As for `PrivateKernelClassifier`; `target_bounds` is public too.

    References
    ----------
    Lin & Reimherr (2023), Theorem 16; Hall, Rinaldo & Wasserman (2013), section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> hour = np.random.default_rng(0).uniform(0, 24, size=2000)
    >>> load = 2 + np.sin(hour / 24 * 2 * np.pi)
    >>> machine = PrivateKernelRegressor(epsilon=1, bounds=(0, 24), target_bounds=(0, 4))
    >>> machine.fit(hour[:, None], load).predict([[6.0], [18.0]]).shape
    (2,)
    """

    losses = LOSSES

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        target_bounds: Bounds = None,
        loss: str | Loss = "auto",
        solver: str | Solving = "auto",
        features: str | Features | FeatureMap = "auto",
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release the regression function.

        Parameters
        ----------
        X : array (n, d) or DataFrame
            One record a row, in the units of the inputs. Private.
        y : array (n,)
            Target of each record, in its units. Private.
        groups : array (n,), optional
            Privacy unit of each record, for example the person. Private.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        self._fit(X, y, groups)
        return self

    def predict(self, X: Records) -> Floats:
        """Values (q,) of the released function, inside the target bounds."""
        points, usable = self.decision_points(X)
        return np.where(usable, self.release_.predict(points), self.release_.center)

    def __sklearn_tags__(self) -> Tags:
        """With the few records of a check, the score is that of the noise."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _target(self) -> tuple[float, float]:
        if self.target_bounds is None:
            remedy = (
                "Pass its two ends in the units of the target, from knowledge of the measurement and "
                "never from these data."
            )
            raise ParameterError("target_bounds", "be given", "None", remedy)
        low, high = pair(self.target_bounds, "target_bounds")
        center, half = low / 2 + high / 2, high / 2 - low / 2
        if not (math.isfinite(center) and math.isfinite(half) and half > 0):
            words = "be finite with lower < upper"
            raise ParameterError("target_bounds", words, shown(self.target_bounds), "Swap the ends?")
        return center, half

    def _targets(self, y: object, count: int) -> tuple[Floats, tuple[object, ...]]:
        center, half = self._target()
        values = numbers(column(y, count), self.settings.reading.invalid)
        scaled = np.clip((values - center) / half, -1.0, 1.0)
        return np.where(np.isfinite(values), scaled, np.nan), ()
