"""Kernel machines under differential privacy, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from dpfda.machines.defaults import descends
from dpfda.machines.estimator import KernelMachine, column
from dpfda.machines.minimiser import Loss, read_loss
from dpfda.machines.plan import Features, Solving
from dpfda.machines.predictor import deciding
from dpfda.numerics.arrays import Cells, Floats, Integers
from dpfda.numerics.errors import DataError, Location, ParameterError
from dpfda.numerics.parameters import entries, plain_words, shown
from dpfda.privacy.guarantees import asked
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import cells_in
from dpfda.records.features.inputs import FeatureMap
from dpfda.records.labels import Key, key_order, label_key, plain_label
from dpfda.spine.arguments import Bounds, Labels, Number, Payer, Place, Protected, Records
from dpfda.spine.base import available_if, mixin
from dpfda.spine.memberships import NONE, OTHER, level_key, members, none_of
from dpfda.spine.settings import Reading

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin
    from sklearn.utils import Tags
else:
    ClassifierMixin = mixin("ClassifierMixin")

LOSSES = ("auto", "hinge", "logistic", "squared")
FROM_Y = "from-y"


def _descends(machine: KernelMachine) -> bool:
    """Whether it will be fitted by noisy descent, which has the logistic loss of several classes."""
    try:
        loss = read_loss(machine.loss, machine.losses)
        guarantee = asked(machine.epsilon, machine.delta, machine.rho)
        return descends(Solving.of(machine.solver).solver, loss, guarantee, 1)
    except ParameterError:
        return False


def _is_logistic(machine: KernelMachine) -> bool:
    try:
        name = read_loss(machine.loss, machine.losses).name
    except ParameterError:
        return False
    return name == "logistic" or (name == "auto" and _descends(machine))


def _has_probabilities(machine: KernelMachine) -> bool:
    """Whether what was released has them; before a fit whether it will, by the bounds."""
    if hasattr(machine, "release_"):
        return machine.release_.has_probabilities
    try:
        return machine.tabled(machine.stated_inputs()) or _is_logistic(machine)
    except ParameterError:
        return False


class PrivateKernelClassifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Classifier under differential privacy: probabilities in cells, support vector machines.

    By default probabilities of one or two inputs come from one noisy table of cells, with a band. Of
    more inputs, or where a solver, a loss or features are named, the decision function f(x) = b . phi(x)
    minimises the average loss plus penalty |b|^2; of several classes the largest decides.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`; rho not for the objective solver.
    bounds : (lower, upper)
        Public bounds of the inputs, in their units, or a list of pairs, one a column; not from data.
    classes : (first, second, ...) or "from-y"
        The public classes; of two, the decision function is positive for the second. A record of any
        other is unusable (`reading`). "from-y" declares that the set of labels in y is public.
    loss : {"auto", "hinge", "logistic", "squared"}, "hinge:0.5" or Loss
        The hinge's corner is rounded by an arc, whose length may follow. "auto" is logistic where there
        is a delta, else the hinge; for more than two classes the square where n epsilon is large. Of a
        class that is rare, "logistic" on "linear" features ranks best (the page has figures).
    solver : {"auto", "table", "objective", "output", "sums", "means", "gradient"} or Solving
        Where the noise goes: `dpfda.machines.table` and `dpfda.machines.solvers` say what each
        guarantees, the page what "auto" takes. With a penalty, in a `dpfda.machines.plan.Solving`.
    features : {"auto", "linear", "distances", "quadratic", "fourier", "grid"}, Features or a map
        "auto" is "grid" on one or two inputs; on more "quadratic" or "distances" where n epsilon is
        large, else "linear", of a power that is looked for (`dpfda.machines.plan.Features`). A map of
        `dpfda.records.features`: `LinearFeatures.of_curves` takes curves and images.
    domain : Domain, optional
        Its labels: public words for plots, "domain" and "value", with units.
    unit : str or PrivacyUnit, optional
        Who is protected. One unit may be replaced by another; added or removed with a `public_size`.
    reading : Reading, optional
        Whether unusable records are refused, or left out, or count as without features and target 0.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn.

    Attributes
    ----------
    release_ : TablePredictor or ReleasedPredictor
        The published function.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn. Public.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, for data sets that differ in one
    unit (a record, or all of one label of `groups`). Proofs, with all rounding, are in
    `dpfda.machines.table` and `dpfda.machines.solvers`. `X`, `y`, `groups` are private.

    References
    ----------
    Lin & Reimherr (2023), Theorem 16; Chaudhuri, Monteleoni & Sarwate (2011); Iyengar et al. (2019).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
    >>> machine = PrivateKernelClassifier(epsilon=1, bounds=(-1, 1), classes=("down", "up")).fit(X, y)
    >>> machine.predict([[0.9, 0.9], [-0.9, -0.9]]).shape
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
        classes: object = None,
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
        """Release the decision function.

        Parameters
        ----------
        X : array (n, d) or DataFrame
            One record a row, in the units of the inputs. Private.
        y : array (n,)
            Class of each record. Private.
        groups : array (n,), optional
            Privacy unit of each record, for example the person. Private.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        self._fit(X, y, groups)
        self.classes_ = np.array(self.release_.classes)
        return self

    def decision_function(self, X: Records) -> Floats:
        """Values (q,), positive for the second class; for more than two (q, C), one a class."""
        points, usable = self.decision_points(X)
        values = self.release_.decisions(points)
        return np.where(usable if values.ndim == 1 else usable[:, None], values, 0.0)

    def predict(self, X: Records) -> Cells:
        """Predicted classes (q,)."""
        return np.asarray(self.classes_[deciding(self.decision_function(X))])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Records) -> Floats:
        """Probabilities (q, 2) or (q, C) of the classes, from a table or for the logistic loss.

        That is the loss of many inputs where there is a delta and no other is named. A descent
        calibrates them, within its budget: docs/appendix/kernel_machines.md says how well.
        """
        points, usable = self.decision_points(X)
        return np.where(
            usable[:, None], self.release_.predict_proba(points), 1 / len(self.release_.classes)
        )

    def _targets(self, y: object, count: int) -> tuple[Floats, tuple[object, ...]]:
        labels = column(y, count)
        classes = self._public_classes(labels)
        if len(classes) > 2 and _is_logistic(self) and not _descends(self):
            words = "be 'auto', 'hinge' or 'squared' for more than two classes without a delta"
            remedy = "Only binary classification is supported. Leave out the loss or set delta for more."
            raise ParameterError("loss", words, shown(self.loss), remedy)
        places = members(labels, classes, "y", self._key_of)
        if self.settings.reading.invalid == "refuse":
            _refuse_others(places, classes)
        bad = places < 0
        numbered = np.where(bad, np.nan, places)
        if len(classes) == 2:
            return 2.0 * numbered - 1.0, classes
        targets = np.float64(numbered[:, None] == np.arange(len(classes)))
        return np.where(bad[:, None], np.nan, targets), classes

    def _functions(self, classes: tuple[object, ...]) -> int | None:
        if not classes and self.classes is not None and not isinstance(self.classes, str):
            classes = tuple(_listed(self.classes))
        return len(classes) if len(classes) > 2 else 1

    @property
    def _key_of(self) -> Callable[[object], Key]:
        """What labels are compared by: where classes are stated, a number in text by its value."""
        return label_key if isinstance(self.classes, str) and self.classes == FROM_Y else level_key

    def _public_classes(self, labels: object) -> tuple[object, ...]:
        if isinstance(self.classes, str) and self.classes == FROM_Y:
            listed = _labels_of(labels, self.settings.reading.invalid)
        elif self.classes is None or isinstance(self.classes, str):
            remedy = (
                "Pass two labels or more, which must be known without looking at y; or classes='from-y' "
                "to declare that the labels in y are public."
            )
            raise ParameterError("classes", "be the public classes", repr(self.classes), remedy)
        else:
            listed = _listed(self.classes)
        listed = [_plain(label) for label in listed]
        named = [self._key_of(label) for label in listed]
        if len(listed) < 2 or len(set(named)) < len(named) or None in named:
            raise ParameterError("classes", "be two or more different labels", shown(self.classes))
        if not all(isinstance(label, str | int | float) for label in listed):
            words = "be words or numbers, so that a file can hold them"
            raise ParameterError("classes", words, shown(self.classes))
        return tuple(listed)

    def __sklearn_tags__(self) -> Tags:
        """With the few records of a check, the score is that of the noise."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = not _is_logistic(self) or _descends(self)
        return tags


def _listed(classes: object) -> list[object]:
    try:
        return entries(classes)
    except TypeError:
        raise ParameterError("classes", "be the public classes", shown(classes)) from None


def _plain(label: object) -> object:
    """A label as Python's own type, so that it can be written to a file."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain_words(plain, "classes") if isinstance(plain, str) else plain


def _refuse_others(places: Integers, classes: Sequence[object]) -> None:
    """Refuse labels that are no class; before those that are missing, which alone may be left out."""
    if (places == OTHER).any():
        raise none_of("y", "classes", classes, int(np.argmax(places == OTHER)), "y")
    if (places == NONE).any():
        raise DataError(
            "y must hold one of the classes; found a missing label in $place. Use $invalid to count "
            f"such records without their features. {OUTSIDE}",
            "y",
            place=Location(int(np.argmin(places))),
        )


def _labels_of(cells: object, invalid: str) -> list[object]:
    """The labels that occur, which the caller has declared public."""
    present = {label_key(cell) for cell in cells_in(cells, "y")}
    if invalid == "refuse" and None in present:
        raise DataError("y must hold a label for every record; found a missing one (NaN).")
    labels = [plain_label(key) for key in sorted(present - {None}, key=key_order)]
    if None in labels or len({isinstance(label, str) for label in labels}) > 1:
        raise DataError("y must hold labels of one type, words or numbers; found several or others.")
    labels.sort()
    if any(isinstance(label, float) and not label.is_integer() for label in labels):
        raise DataError(
            "Unknown label type: y must hold classes; found continuous numbers. Use "
            "PrivateKernelRegressor for real targets."
        )
    if len(labels) < 2:
        raise DataError(
            f"y must hold two classes or more; found {len(labels)} class(es) where classes='from-y' "
            "declares them public."
        )
    return labels
