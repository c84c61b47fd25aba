"""What the private regressor and classifier share: public choices, reading records, publication."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from dpfda.errors import DataError, ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.parameters import real
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP
from dpfda.privacy.ledger import Ledger
from dpfda.publication import publish_integers, stamp
from dpfda.publication.perturbed import publish_perturbed
from dpfda.records import Curves, curves_from_array
from dpfda.records.containers import (
    cells_in,
    column_labels,
    column_of,
    opened,
    refuse_kinds,
    shape_of,
)
from dpfda.records.curves import check_choice
from dpfda.records.features import (
    FeatureMap,
    FourierFeatures,
    InputBox,
    LandmarkFeatures,
    LinearFeatures,
    embedded,
)
from dpfda.records.frames import cells_handed, names_of
from dpfda.records.labels import unit_codes
from dpfda.releases.predictor import BOUND
from dpfda.summaries.choices import check_choices
from dpfda.summaries.defaults import (
    ROADS,
    default_components,
    default_kernel,
    default_psi,
    default_road,
)
from dpfda.summaries.labels import read_labels
from dpfda.summaries.minimiser import Loss
from dpfda.summaries.roads import (
    Labelled,
    ObjectiveRoad,
    OutputRoad,
    Plan,
    Road,
    SumsRoad,
    check_psi,
)

Floats = NDArray[np.float64]

FEATURES = ("auto", "linear", "fourier", "grid")
# Rows whose products are formed at a time: a public number.
BLOCK = 1024
GRID_POINTS = {1: 128, 2: 24, 3: 10}


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMachine:
    """The public choices and the private examples, before anything is charged or drawn."""

    road: Road
    features: FeatureMap
    inputs: InputBox
    data: Labelled
    guarantee: Guarantee
    unit: str
    classes: tuple[Any, ...]

    def integers(self) -> IntegerSum:
        """What the output and sums roads add noise to. Private."""
        if isinstance(self.road, OutputRoad):
            return IntegerSum.of(self.road.integers(self.data))
        if isinstance(self.road, SumsRoad):
            return _sums(self.road, self.data)
        raise ParameterError("road", "be 'output' or 'sums' here", repr(self.road.name))


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """Shared by `PrivateKernelRegressor` and `PrivateKernelClassifier`; not for use by itself."""

    epsilon: Any
    delta: Any
    bounds: Any
    loss: str
    width: float
    road: Any
    features: Any
    kernel: Any
    components: int | None
    seed: int
    psi: Any
    neighbours: str
    invalid: str
    unit: str | None
    labels: Any
    ledger: Ledger | None
    dataset: str | None

    def _fit(self, X: Any, y: Any, groups: Any) -> None:
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            prepared = self.prepare(X, y, groups)
            noisy, certificate = publish_machine(prepared, self.ledger, self.dataset)
            self.release_ = self._release(prepared, prepared.road.coefficients(noisy), certificate)
        self.n_features_in_ = prepared.features.inputs
        names = names_of(X, groups)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def prepare(self, X: Any, y: Any, groups: Any = None) -> PreparedMachine:
        """Everything before the noise: check, embed, clip, round. The result is private.

        Parameters
        ----------
        X, y, groups
            As in `fit`.
        """
        guarantee = check_choices(self)
        relation = Neighbours.parse(self.neighbours)
        if relation is not Neighbours.REPLACE_ONE:
            raise ParameterError(
                "neighbours",
                "be 'replace-one' for a kernel machine",
                repr(self.neighbours),
                "Penalty, features and the average in the objective use the number of units, which is "
                "private under add/remove.",
            )
        loss = self._loss()
        refuse_kinds(X)
        if y is None:
            raise DataError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
            )
        X, groups = cells_handed(X, groups)[:2]
        shape = _shape(X)
        inputs = InputBox.of(self.bounds, shape[1])
        curves = _records(X, shape[1], self.invalid)
        targets, classes = self._targets(y, shape[0])
        usable = curves.usable & np.isfinite(targets)
        codes = np.arange(shape[0]) if groups is None else unit_codes(groups, shape[0], self.invalid)
        units = int(codes.max()) + 1
        if units < 2:
            raise DataError(
                f"There must be at least two privacy units; found {units} (n_samples = {shape[0]})."
            )
        features = self._features(shape[1], units, guarantee)
        road = self._road(features, units, loss, guarantee, groups is not None)
        points = inputs.scaled(np.where(usable[:, None], curves.values, inputs.lower))
        rows = embedded(features, road.ball, points)
        # An unusable record counts as one without features and with target 0: a fixed public element.
        rows[~usable] = 0
        data = Labelled(rows, np.where(usable, targets, 0.0), codes, units)
        read_labels(self.labels)
        unit = self.unit or ("record" if groups is None else "group")
        return PreparedMachine(road, features, inputs, data, guarantee, unit, classes)

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _targets(self, y: Any, count: int) -> tuple[Floats, tuple[Any, ...]]:
        """Targets (count,) in [-1, 1], private, not finite for unusable records; and public classes."""
        raise NotImplementedError

    def _release(self, prepared: PreparedMachine, coefficients: Floats, certificate: Certificate) -> Any:
        raise NotImplementedError

    def _width(self) -> Fraction:
        return Fraction(real(self.width, "width", 1e-3, 2.0, "lie between 0.001 and 2"))

    def _features(self, inputs: int, units: int, guarantee: Guarantee) -> FeatureMap:
        if not isinstance(self.features, str):
            if getattr(self.features, "inputs", None) != inputs:
                raise ParameterError(
                    "features",
                    f"be a feature map on the {inputs} columns of X, or one of {FEATURES}",
                    repr(self.features) if self.features is None else type(self.features).__name__,
                )
            made: FeatureMap = self.features
            return made
        check_choice(self.features, "features", FEATURES)
        kind = self.features
        if kind == "auto":
            kind = "grid" if inputs <= 2 else "linear" if self.kernel is None else "fourier"
        if kind == "linear":
            return LinearFeatures.of_columns(inputs)
        count = (
            default_components(inputs, units, guarantee) if self.components is None else self.components
        )
        kernel = default_kernel(inputs) if self.kernel is None else self.kernel
        if kind == "fourier":
            return FourierFeatures.drawn(kernel, inputs, count, self.seed)
        if inputs not in GRID_POINTS:
            raise ParameterError(
                "features",
                "not be 'grid' for more than three inputs",
                f"{inputs} inputs",
                "Use 'fourier'.",
            )
        return LandmarkFeatures.on_grid(kernel, inputs, GRID_POINTS[inputs], count)

    def _road(
        self,
        features: FeatureMap,
        units: int,
        loss: Loss,
        guarantee: PureDP | ApproximateDP,
        grouped: bool,
    ) -> Road:
        count = features.components
        check_choice(self.road, "road", ("auto", *ROADS))
        name = self.road
        if name == "auto":
            name = default_road(loss, count, units, guarantee)
        given = default_psi(name, loss, count, units, guarantee) if self.psi is None else self.psi
        plan = Plan(count, units, loss, check_psi(given), guarantee, grouped)
        return ROADS[name](plan)

    def _shared(self, prepared: PreparedMachine, certificate: Certificate) -> dict[str, Any]:
        """The parts of a release that do not depend on the task."""
        road = prepared.road
        return {
            "inputs": prepared.inputs,
            "features": prepared.features,
            "loss": road.plan.loss.name,
            "certificate": certificate,
            "size": road.plan.units,
            "noise": road.noise,
            "about": read_labels(self.labels) | stamp(),
        }

    def decision_points(self, X: Any) -> Floats:
        """Points (q, d) to evaluate the release at; checks fit, shape and numbers. Public."""
        check_is_fitted(self, "release_")
        refuse_kinds(X)
        count = _shape(X)[1]
        names = getattr(self, "feature_names_in_", None)
        labels = column_labels(X)
        if names is not None and labels and list(names) != labels:
            raise ParameterError(
                "X", "have the columns of fit, in their order: feature names should match", "others"
            )
        if count != self.n_features_in_:
            raise DataError(
                f"X has {count} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return _records(X, count, "refuse").values

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: noise in every fit, NaN only where it is dealt with."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags


def publish_machine(
    prepared: PreparedMachine, ledger: Ledger | None = None, dataset: str | None = None
) -> tuple[tuple[int, ...], Certificate]:
    """Charge, draw and release the integers behind a machine's coefficients."""
    road, data = prepared.road, prepared.data
    entry, tuning = _entry(prepared), _tuning(road)
    if isinstance(road, ObjectiveRoad):
        return publish_perturbed(
            lambda drawn: IntegerSum.of(road.integers(data, list(drawn))),
            road.perturbation,
            road.loss,
            road.noise,
            "l2",
            road.width,
            road.shares,
            entry,
            ledger,
            dataset,
            tuning,
        )
    integers = prepared.integers()
    return publish_integers(
        integers, road.noise, "l2", road.width, prepared.guarantee, entry, ledger, dataset, tuning
    )


def _tuning(road: Road) -> dict[str, Any]:
    """Name of the road, penalty and other public tuning."""
    plan = road.plan
    return {
        "name": road.name,
        "psi": float(plan.psi),
        "width": float(plan.loss.width),
        **road.describe(),
    }


def _sums(road: SumsRoad, data: Labelled) -> IntegerSum:
    """Exact sums over units."""
    total = IntegerSum(road.entries)
    for start in range(0, data.units, BLOCK):
        total.add(road.averages(data, start, min(start + BLOCK, data.units)))
    return total


def _entry(prepared: PreparedMachine) -> Mapping[str, Any]:
    road = prepared.road
    return {
        "summary": f"{road.plan.loss.name} kernel machine",
        "neighbours": str(Neighbours.REPLACE_ONE),
        "privacy_unit": prepared.unit,
        "bound": BOUND,
        "basis": prepared.features.describe(),
        "mechanism": road.name,
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
