"""What the private regressor and classifier share: public choices, reading records, publication."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfda.machines.minimiser import Loss, read_loss
from dpfda.machines.plan import Features, MachinePlan, Solving, machine_plan
from dpfda.machines.powers import Unfeatured
from dpfda.machines.predictor import Predictor
from dpfda.machines.release import ReleasedPredictor
from dpfda.machines.solvers import Budget, Labelled, SummingSolver
from dpfda.machines.table import NAME, PredictorPlan, predictor_plan
from dpfda.machines.table_release import MOST_INPUTS, TablePredictor
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import DataError, Location, ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import Prepared, said_by
from dpfda.records import Curves, curves_from_array
from dpfda.records.arrow import arrow_table
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import cells_in, column_of, matrix_of, opened, refuse_kinds, shape_of
from dpfda.records.curves import REPLACE
from dpfda.records.features import FeatureMap, InputBox
from dpfda.records.frames import Container, is_dask
from dpfda.records.labels import unit_codes
from dpfda.spine.arguments import Beside, Bounds, Labels, Records
from dpfda.spine.choices import check_choices, public_size
from dpfda.spine.clusters import fit_on_cluster
from dpfda.spine.estimator import Estimator
from dpfda.spine.pooled import PooledSum, Rows
from dpfda.spine.settings import Domain, Settings

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Rows that are looked at at a time: a public number.
BLOCK = 2**14


@dataclass(frozen=True, eq=False)
class PooledMachine(PooledSum):
    """A machine as a sum, with targets as y.

    Parameters
    ----------
    settings : Settings
    plan : MachinePlan or PredictorPlan
        For a known number of units.
    reading : callable
        Reads records and targets: inputs, targets, which are usable, and the classes.
    """

    settings: Settings
    plan: MachinePlan | PredictorPlan
    reading: Callable[[Records, Beside], tuple[Cells, Floats, Flags, object]]

    def __post_init__(self) -> None:
        plan = self.plan
        if isinstance(plan, PredictorPlan):
            return
        near = "bring records into memory, as in fit(X.compute(), y.compute())."
        if not isinstance(plan.solver, SummingSolver):
            words = "make one sum where the records lie in several places"
            remedy = (
                "Use solver 'sums' (with loss 'squared'), 'means' for classes, or one or two inputs; "
                f"or {near}"
            )
            raise ParameterError("solver", words, repr(plan.solver.name), remedy)
        if plan.choice is not None:
            words = "be a public number where the records lie in several places"
            raise ParameterError("power", words, repr("search"), f"State it; or {near}")

    numbers = said_by("plan.entries")

    def read(self, X: Records, y: Beside = None) -> Rows:
        return self.reading(X, y)[:3]

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        values, targets, usable = rows
        codes = np.arange(len(usable)) if codes is None else codes
        return self.plan.total(values, targets, usable, codes, int(codes.max(initial=-1)) + 1)

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedPredictor | TablePredictor:
        return self.plan.publish(total, read_ledger(ledger))


class KernelMachine(Estimator):
    """Shared by `PrivateKernelRegressor` and `PrivateKernelClassifier`; not for use by itself."""

    _gathered: ClassVar = {**Estimator._gathered, "features": (Features,), "solver": (Solving,)}

    release_: Predictor
    bounds: Bounds
    loss: str | Loss
    solver: str | Solving
    features: str | Features | FeatureMap
    _takes_labels = True
    # Losses that the task has.
    losses: ClassVar[tuple[str, ...]]

    def _fit(self, X: Records, y: Labels, groups: Labels) -> None:
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            if is_dask(X):
                self.release_ = fit_on_cluster(self, X, groups, y)
            else:
                prepared = self.prepare(X, y, groups)
                self.release_ = prepared.plan.publish(prepared.total, self._paying())  # type: ignore[arg-type]
        self.n_features_in_ = self.release_.dimensions
        self._set_feature_names(X, groups)

    def plan(
        self, n: int, inputs: int | None = None, filled: float | None = None, span: float | None = None
    ) -> MachinePlan | PredictorPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; a public size counts instead of it.
        inputs : int, optional
            Number of inputs, where the bounds do not say it.
        filled : float, optional
            Expected part of its bounds that the middle half of an input's values fills: one half where
            they are spread evenly. A guess of data to come, for errors and bands alone, as the next.
        span : float, optional
            Expected distance between the smallest and the largest value of the function, in the units
            of the target; of probabilities between 0 and 1.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        whole(n, "n", 2)
        n = public_size(self.settings.unit, n) or n
        inputs = self.stated_inputs() if inputs is None else whole(inputs, "inputs", 1)
        guarantee, loss = self._checked()
        expected: Json = {"filled": filled, "span": span}
        return self._plan(guarantee, n, loss, InputBox.of(self.bounds, inputs), False, (), expected)

    def stated_inputs(self) -> int:
        """Number of inputs, as far as the bounds say it."""
        ends = self.bounds if isinstance(self.bounds, Sequence | np.ndarray) else ()
        return len(ends) if len(ends) and np.size(ends[0]) > 1 else 1

    def prepare(
        self, X: Records, y: Labels, groups: Labels = None
    ) -> Prepared[MachinePlan, Labelled | Unfeatured] | Prepared[PredictorPlan, IntegerSum]:
        """Everything before the noise: check, embed, clip, round. The result is private.

        Parameters
        ----------
        X, y, groups
            As in `fit`.
        """
        guarantee, loss = self._checked()
        invalid = self.settings.reading.invalid
        X, groups = Container.of(X, groups).cells()
        values, targets, usable, classes = self.read(X, y)
        codes = np.arange(usable.size) if groups is None else unit_codes(groups, usable.size, invalid)
        units = int(codes.max()) + 1
        # Under add/remove neighbours another number stands for the units, which are not counted.
        size = public_size(self.settings.unit, units, invalid) or units
        inputs = InputBox.of(self.bounds, values.shape[1])
        plan = self._plan(guarantee, size, loss, inputs, groups is not None, classes)
        if isinstance(plan, PredictorPlan):
            return Prepared(plan, plan.total(values, targets, usable, codes, units))
        examples = Unfeatured(inputs, values, usable, targets, codes, units)
        searched = plan.choice is not None
        return Prepared(plan, examples if searched else examples.labelled(plan.features, plan.solver))

    def read(self, X: Records, y: Beside) -> tuple[Cells, Floats, Flags, tuple[object, ...]]:
        """Inputs and targets (0 where a record cannot be used), which can, and the public classes.

        Parameters
        ----------
        X, y
            As in `fit`.
        """
        refuse_kinds(X)
        if y is None:
            raise DataError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
            )
        shape = _shape(X)
        values, usable = _read(X, shape[1], self.settings.reading.invalid)
        targets, classes = self._targets(y, shape[0])
        usable &= np.isfinite(targets).reshape(shape[0], -1).all(axis=1)
        targets[~usable] = 0.0
        return values, targets, usable, classes

    def _pooled_for(self, n: int, X: Records, y: object, grouped: bool) -> PooledMachine:
        """The sum for n units on the columns of X, with targets as y."""
        guarantee, loss = self._checked()
        classes: object = getattr(self, "classes", None)
        if isinstance(classes, str):
            words = "be stated where the records lie in several places"
            raise ParameterError("classes", words, repr(classes), "Pass classes=[...], never from data.")
        inputs = InputBox.of(self.bounds, _shape(X)[1])
        # Public, so that no target is read for them.
        stated = self._targets([], 0)[1]
        return PooledMachine(
            self.settings, self._plan(guarantee, n, loss, inputs, grouped, stated), self.read
        )

    def _checked(self) -> tuple[Budget, Loss]:
        check_choices(self)
        settings = self.settings
        if settings.unit.private and settings.unit.public_size is None:
            words = "be given for a kernel machine under add/remove neighbours"
            remedy = (
                "Penalty, features and steps follow from a number of units, and theirs is private: "
                'PrivacyUnit("person", "add-remove", public_size=...), such as the size planned.'
            )
            raise ParameterError("public_size", words, "None", remedy)
        if settings.domain != Domain(labels=settings.domain.labels):
            words = "hold labels alone for a kernel machine"
            raise ParameterError("domain", words, repr(settings.domain), "Use bounds.")
        return self.asked(), read_loss(self.loss, self.losses)

    def _plan(
        self,
        guarantee: Budget,
        units: int,
        loss: Loss,
        inputs: InputBox,
        grouped: bool,
        classes: tuple[object, ...],
        expected: Json | None = None,
    ) -> MachinePlan | PredictorPlan:
        shared: Json = {
            "settings": self.settings, "inputs": inputs, "grouped": grouped,
            "classes": classes, "functions": self._functions(classes), "target": self._target(),
        }  # fmt: skip
        if self.tabled(inputs.lower.size):
            return predictor_plan(guarantee, units, **shared, **(expected or {}))
        for name, value in (expected or {}).items():
            if value is not None:
                words = "be left out where a kernel machine is published, whose noise alone is foretold"
                raise ParameterError(name, words, shown(value))
        solving = Solving.of(self.solver)
        return machine_plan(
            guarantee, units, loss=loss, features=self.features, solving=solving, **shared
        )

    def tabled(self, inputs: int) -> bool:
        """Whether a table is released, by what was asked for: never by data.

        Raises
        ------
        ParameterError
            If it is asked for together with what it has no use for.
        """
        whole(inputs, "inputs", 1)
        solving, features = Solving.of(self.solver), Features.of(self.features)
        solver, loss = (word if isinstance(word, str) else "" for word in (solving.solver, self.loss))
        power = features.power if isinstance(features, Features) else None
        bare = replace(features, power=None) if isinstance(features, Features) else features
        plain = bare == Features() and solving.penalty is None and loss == "auto"
        if solver == NAME and not (plain and power is None):
            words = "go without loss, features and penalty, which a table has no use for"
            raise ParameterError("solver", words, repr(NAME))
        by_default = solver == "auto" and plain and inputs <= MOST_INPUTS
        if by_default and power is not None:
            words = "be $none for one or two inputs, whose values go into cells"
            remedy = "Leave it out; or name a solver, such as $solver, to go without cells."
            raise ParameterError("power", words, f"{power!r} for {inputs}", remedy, solver="objective")
        return solver == NAME or by_default

    def _target(self) -> tuple[float, float] | None:
        """Middle of the bounds of the target, and half of their distance; None for classes."""
        return None

    def _targets(self, y: object, count: int) -> tuple[Floats, tuple[object, ...]]:
        """Targets as in `Labelled`, private, not finite for unusable records; and public classes."""
        raise NotImplementedError

    def _functions(self, classes: tuple[object, ...]) -> int | None:
        """Number of decision functions, from public numbers; None for a regression."""
        return None

    def decision_points(self, X: object) -> tuple[Floats, NDArray[np.bool_]]:
        """Points (q, d) to evaluate the release at, and which are numbers; checks fit and shape.

        Under ``invalid="repair"`` a point that is none is not refused: it has no features, as in `fit`.
        """
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

    def __sklearn_tags__(self) -> Tags:
        """NaN only where it is repaired."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.settings.reading.invalid == "repair"
        return tags


def _shape(X: object) -> tuple[int, int]:
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


def _read(X: object, inputs: int, invalid: str) -> tuple[Cells, Flags]:
    """Numbers (n, d), an array where they lie, and which records can be used."""
    matrix = matrix_of(X, invalid)
    usable = np.empty(matrix.shape[0], dtype=np.bool_)
    for start in range(0, usable.size, BLOCK):
        part = slice(start, start + BLOCK)
        usable[part] = np.isfinite(doubles(matrix[part])).all(axis=1)
    if not usable.all() and invalid == "refuse":
        _records(matrix, inputs, invalid)
    return matrix, usable


def _records(X: object, inputs: int, invalid: str) -> Curves:
    return curves_from_array(X, np.arange(float(inputs)), "refuse", invalid, fills=False)


def column(y: object, count: int) -> object:
    """The column of targets (count,), an array or a list of cells.

    Raises
    ------
    DataError
        If there is not one a record.
    """
    y = opened(y)
    shape = tuple(getattr(y, "shape", ()))
    if len(shape) == 2 and shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: its one column is used.",
            DataConversionWarning,
            stacklevel=5,
        )
        y = y[:, 0] if isinstance(y, np.ndarray) else y
        shape = shape[:1]
    if len(shape) > 1 or len(cells := cells_in(y, "y")) != count:
        dimensions = shape if len(shape) > 1 else (len(cells),)
        raise DataError(
            f"y must hold one target a record ({count}); found inconsistent numbers of samples: shape "
            f"{dimensions}."
        )
    return y


def numbers(y: object, invalid: str) -> Floats:
    """Real targets; not finite where a cell is missing or no number, unless that is refused."""
    values, offence = column_of(y, "y")
    if invalid == "refuse" and offence is not None:
        row, kind = offence
        raise DataError(
            f"y must be numbers; found {kind} in $place. Correct it, or take another target; labels "
            f"want a classifier. {OUTSIDE}",
            place=Location(row),
        )
    bad = ~np.isfinite(values)
    if invalid == "refuse" and bad.any():
        row = int(bad.argmax())
        kind = "a missing value (NaN)" if np.isnan(values[row]) else "an infinity (inf)"
        words = f"y must be complete and finite; found {kind} in $place. Use {REPLACE}. {OUTSIDE}"
        raise DataError(words, place=Location(row))
    return values
