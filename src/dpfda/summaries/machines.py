"""What the private regressor and classifier share: public choices, reading records, publication."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from dpfda.errors import DataError, ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.parameters import choice
from dpfda.privacy.budgets import budget
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP
from dpfda.privacy.ledger import AnyLedger
from dpfda.publication import publish_integers, stamp
from dpfda.publication.perturbed import publish_perturbed
from dpfda.records import Curves, curves_from_array
from dpfda.records.arrow import arrow_table
from dpfda.records.containers import (
    cells_in,
    column_of,
    opened,
    refuse_kinds,
    shape_of,
)
from dpfda.records.features import (
    FeatureMap,
    FourierFeatures,
    InputBox,
    LandmarkFeatures,
    LinearFeatures,
    embedded,
)
from dpfda.records.frames import cells_handed
from dpfda.records.labels import unit_codes
from dpfda.releases.predictor import BOUND
from dpfda.summaries.choices import check_choices
from dpfda.summaries.defaults import (
    SOLVERS,
    default_components,
    default_kernel,
    default_penalty,
    default_solver,
)
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.labels import read_labels
from dpfda.summaries.minimiser import Loss, read_loss
from dpfda.summaries.settings import Domain, Gathered
from dpfda.summaries.solvers import (
    Labelled,
    ObjectiveSolver,
    OutputSolver,
    Plan,
    Solver,
    SumsSolver,
    check_penalty,
)

Floats = NDArray[np.float64]

# Rows whose products are formed at a time: a public number.
BLOCK = 1024
GRID_POINTS = {1: 128, 2: 24, 3: 10}


FEATURES = ("auto", "linear", "fourier", "grid")


@dataclass(frozen=True, repr=False, eq=False)
class Features(Gathered):
    """Public features of inputs, functions of which a kernel machine is a sum.

    Parameters
    ----------
    kind : {"auto", "linear", "fourier", "grid"}
        "auto" is "grid" on one or two inputs, "linear" on more without a kernel and "fourier" with one.
        See `dpfda.records.features`.
    kernel : scikit-learn kernel, optional
        For "fourier" and "grid", in units of inputs scaled from their bounds to [0, 1].
    components : int, optional
        Number of kernel features; by default from the public size and epsilon.
    seed : int
        Public seed of the frequencies of random Fourier features; the noise has none.

    Examples
    --------
    >>> Features("fourier", components=50)
    Features(kind='fourier', components=50)
    """

    kind: str = "auto"
    kernel: Any = None
    components: int | None = None
    seed: int = 0
    shorthand: ClassVar[str] = "kind"

    def __post_init__(self) -> None:
        choice(self.kind, "features", FEATURES)

    @classmethod
    def of(cls, value: Any) -> Any:
        """Read the `features` of a machine; a feature map is left as it is."""
        return value if hasattr(value, "inputs") else super().of(value)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMachine:
    """The public choices and the private examples, before anything is charged or drawn."""

    solver: Solver
    features: FeatureMap
    inputs: InputBox
    data: Labelled
    guarantee: Guarantee
    unit: str
    classes: tuple[Any, ...]

    def integers(self) -> IntegerSum:
        """What the output and sums solvers add noise to. Private."""
        if isinstance(self.solver, OutputSolver):
            return IntegerSum.of(self.solver.integers(self.data))
        if isinstance(self.solver, SumsSolver):
            return _sums(self.solver, self.data)
        raise ParameterError("solver", "be 'output' or 'sums' here", repr(self.solver.name))


class KernelMachine(Estimator):
    """Shared by `PrivateKernelRegressor` and `PrivateKernelClassifier`; not for use by itself."""

    gathered: ClassVar = {**Estimator.gathered, "features": (Features,)}

    bounds: Any
    loss: Any
    solver: Any
    features: Any
    penalty: Any
    # Losses that the task has.
    losses: ClassVar[tuple[str, ...]]

    def _fit(self, X: Any, y: Any, groups: Any) -> None:
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            prepared = self.prepare(X, y, groups)
            noisy, certificate = publish_machine(prepared, *self.paying())
            self.release_ = self._release(prepared, prepared.solver.coefficients(noisy), certificate)
        self.n_features_in_ = prepared.features.inputs
        self._set_feature_names(X, groups)

    def prepare(self, X: Any, y: Any, groups: Any = None) -> PreparedMachine:
        """Everything before the noise: check, embed, clip, round. The result is private.

        Parameters
        ----------
        X, y, groups
            As in `fit`.
        """
        check_choices(self)
        guarantee = budget(self.epsilon, self.delta)
        settings = self.settings
        invalid = settings.reading.invalid
        if Neighbours.parse(settings.unit.neighbours) is not Neighbours.REPLACE_ONE:
            raise ParameterError(
                "neighbours",
                "be 'replace-one' for a kernel machine",
                repr(settings.unit.neighbours),
                "Penalty, features and the average in the objective use the number of units, which is "
                "private under add/remove.",
            )
        if settings.domain != Domain(labels=settings.domain.labels):
            raise ParameterError(
                "domain", "hold labels alone for a kernel machine", repr(settings.domain), "Use bounds."
            )
        read_labels(settings.domain.labels)
        loss = read_loss(self.loss, self.losses)
        X = arrow_table(X)
        refuse_kinds(X)
        if y is None:
            raise DataError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
            )
        X, groups = cells_handed(X, groups)[:2]
        shape = _shape(X)
        inputs = InputBox.of(self.bounds, shape[1])
        curves = _records(X, shape[1], invalid)
        targets, classes = self._targets(y, shape[0])
        usable = curves.usable & np.isfinite(targets)
        codes = np.arange(shape[0]) if groups is None else unit_codes(groups, shape[0], invalid)
        units = int(codes.max()) + 1
        if units < 2:
            raise DataError(
                f"There must be at least two privacy units; found {units} (n_samples = {shape[0]})."
            )
        features = self._features(shape[1], units, guarantee)
        solver = self._solver(features, units, loss, guarantee, groups is not None)
        points = inputs.scaled(np.where(usable[:, None], curves.values, inputs.lower))
        rows = embedded(features, solver.ball, points)
        # An unusable record counts as one without features and with target 0: a fixed public element.
        rows[~usable] = 0
        data = Labelled(rows, np.where(usable, targets, 0.0), codes, units)
        unit = settings.unit.name or ("record" if groups is None else "group")
        return PreparedMachine(solver, features, inputs, data, guarantee, unit, classes)

    def _targets(self, y: Any, count: int) -> tuple[Floats, tuple[Any, ...]]:
        """Targets (count,) in [-1, 1], private, not finite for unusable records; and public classes."""
        raise NotImplementedError

    def _release(self, prepared: PreparedMachine, coefficients: Floats, certificate: Certificate) -> Any:
        raise NotImplementedError

    def _features(self, inputs: int, units: int, guarantee: Guarantee) -> FeatureMap:
        chosen = Features.of(self.features)
        if not isinstance(chosen, Features):
            if getattr(chosen, "inputs", None) != inputs:
                raise ParameterError(
                    "features",
                    f"be a feature map on the {inputs} columns of X, or one of {FEATURES}",
                    repr(self.features) if self.features is None else type(self.features).__name__,
                )
            made: FeatureMap = chosen
            return made
        kind, kernel, count = chosen.kind, chosen.kernel, chosen.components
        if kind == "auto":
            kind = "grid" if inputs <= 2 else "linear" if kernel is None else "fourier"
        if kind == "linear":
            return LinearFeatures.of_columns(inputs)
        count = default_components(inputs, units, guarantee) if count is None else count
        kernel = default_kernel(inputs) if kernel is None else kernel
        if kind == "fourier":
            return FourierFeatures.drawn(kernel, inputs, count, chosen.seed)
        if inputs not in GRID_POINTS:
            raise ParameterError(
                "features",
                "not be 'grid' for more than three inputs",
                f"{inputs} inputs",
                "Use 'fourier'.",
            )
        return LandmarkFeatures.on_grid(kernel, inputs, GRID_POINTS[inputs], count)

    def _solver(
        self,
        features: FeatureMap,
        units: int,
        loss: Loss,
        guarantee: PureDP | ApproximateDP,
        grouped: bool,
    ) -> Solver:
        count = features.components
        choice(self.solver, "solver", ("auto", *SOLVERS))
        name = self.solver
        if name == "auto":
            name = default_solver(loss, count, units, guarantee)
        given = (
            default_penalty(name, loss, count, units, guarantee)
            if self.penalty is None
            else self.penalty
        )
        plan = Plan(count, units, loss, check_penalty(given), guarantee, grouped)
        return SOLVERS[name](plan)

    def _shared(self, prepared: PreparedMachine, certificate: Certificate) -> dict[str, Any]:
        """The parts of a release that do not depend on the task."""
        solver = prepared.solver
        return {
            "inputs": prepared.inputs,
            "features": prepared.features,
            "loss": solver.plan.loss.name,
            "certificate": certificate,
            "size": solver.plan.units,
            "noise": solver.noise,
            "about": read_labels(self.settings.domain.labels) | stamp(),
        }

    def decision_points(self, X: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Points (q, d) to evaluate the release at, and which are numbers; checks fit and shape.

        Under ``invalid="repair"`` a point that is none is not refused: it has no features, as in `fit`.
        """
        check_is_fitted(self, "release_")
        X = arrow_table(X)
        refuse_kinds(X)
        count = _shape(X)[1]
        self._check_feature_names(X)
        if count != self.n_features_in_:
            raise DataError(
                f"X has {count} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        points = _records(X, count, self.settings.reading.invalid)
        return points.values, points.usable

    def __sklearn_tags__(self) -> Any:
        """A target for every record is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.settings.reading.invalid == "repair"
        return tags


def publish_machine(
    prepared: PreparedMachine, ledger: AnyLedger | None = None, dataset: str | None = None
) -> tuple[tuple[int, ...], Certificate]:
    """Charge, draw and release the integers behind a machine's coefficients."""
    solver, data = prepared.solver, prepared.data
    entry, tuning = _entry(prepared), _tuning(solver)
    if isinstance(solver, ObjectiveSolver):
        return publish_perturbed(
            lambda drawn: IntegerSum.of(solver.integers(data, list(drawn))),
            solver.perturbation,
            solver.loss,
            solver.noise,
            "l2",
            solver.width,
            solver.shares,
            entry,
            ledger,
            dataset,
            tuning,
        )
    integers = prepared.integers()
    return publish_integers(
        integers, solver.noise, "l2", solver.width, prepared.guarantee, entry, ledger, dataset, tuning
    )


def _tuning(solver: Solver) -> dict[str, Any]:
    """Name of the solver, penalty and other public tuning."""
    plan = solver.plan
    return {
        "name": solver.name,
        "penalty": float(plan.penalty),
        "width": float(plan.loss.width),
        **solver.describe(),
    }


def _sums(solver: SumsSolver, data: Labelled) -> IntegerSum:
    """Exact sums over units."""
    total = IntegerSum(solver.entries)
    for start in range(0, data.units, BLOCK):
        total.add(solver.averages(data, start, min(start + BLOCK, data.units)))
    return total


def _entry(prepared: PreparedMachine) -> Mapping[str, Any]:
    solver = prepared.solver
    return {
        "summary": f"{solver.plan.loss.name} kernel machine",
        "neighbours": str(Neighbours.REPLACE_ONE),
        "privacy_unit": prepared.unit,
        "bound": BOUND,
        "basis": prepared.features.describe(),
        "mechanism": solver.name,
    }


def _shape(X: Any) -> tuple[int, int]:
    shape = shape_of(X)
    if len(shape) != 2:
        raise DataError(
            f"X must have two dimensions (records, inputs); found {len(shape)}. Reshape your data: one "
            "record a row."
        )
    if shape[0] == 0:
        raise DataError("X must hold at least two records; found none (0 sample(s)).")
    if shape[1] == 0:
        raise DataError(
            f"X must have at least one input; found 0 feature(s) (shape=({shape[0]}, 0)) while a "
            "minimum of 1 is required."
        )
    return int(shape[0]), int(shape[1])


def _records(X: Any, inputs: int, invalid: str) -> Curves:
    return curves_from_array(X, np.arange(float(inputs)), "refuse", invalid)


def column(y: Any, count: int) -> Any:
    """The column of targets (count,), an array or a list of cells.

    Raises
    ------
    DataError
        If there is not one a record.
    """
    y = opened(y)
    shape = tuple(getattr(y, "shape", ()))
    if len(shape) == 2 and shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: its one column is used.",
            DataConversionWarning,
            stacklevel=5,
        )
        y = y[:, 0] if isinstance(y, np.ndarray) else y
        shape = shape[:1]
    if len(shape) > 1 or len(cells := cells_in(y, "y")) != count:
        found = shape if len(shape) > 1 else (len(cells),)
        raise DataError(
            f"y must hold one target a record ({count}); found inconsistent numbers of samples: shape "
            f"{found}."
        )
    return y


def numbers(y: Any, invalid: str) -> Floats:
    """Real targets; not finite where a cell is missing or no number, unless that is refused."""
    values, _ = column_of(y, "y")
    bad = ~np.isfinite(values)
    if invalid == "refuse" and bad.any():
        row = int(bad.argmax())
        kind = (
            "missing value (NaN)" if np.isnan(values[row]) else "infinity or something that is no number"
        )
        raise DataError(
            f"y must be complete and finite; found a {kind} in row {row}. Use invalid='repair' to "
            "replace unusable records by a fixed public element. This check is outside the privacy "
            "guarantee."
        )
    return values
