"""The plan of a kernel machine: features, solver, penalty and noise, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from dpfda.bases.kernels import parse_kernel
from dpfda.bases.ordinary import Outlook
from dpfda.machines.defaults import chosen_features, chosen_solver, descends, epsilon_of
from dpfda.machines.errors import noise_at_inputs, widths
from dpfda.machines.minimiser import Loss, read_loss
from dpfda.machines.powers import SEARCHED, STAGE, PowerChoice, Unfeatured
from dpfda.machines.release import BOUND, ReleasedPredictor
from dpfda.machines.solvers import Budget, Labelled, Solver, SummingSolver, Terms
from dpfda.machines.table_release import MOST_INPUTS
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice
from dpfda.numerics.words import several
from dpfda.privacy.caveats import already_charged
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import added
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import PlanAgain, charge, planner, said_by, stamp
from dpfda.records.features import FeatureMap, InputBox, RootFeatures
from dpfda.records.features.linear import POWERS
from dpfda.spine.arguments import Kernel
from dpfda.spine.settings import Gathered, Settings, read_labels

# What is known of the noise in the function, by the solver.
SAID = {
    "sums": "to first order, for targets that follow a wave",
    "means": "by its law",
    "output": "by its law",
    "objective": "to first order, where losses have much of the curvature that they may have",
    "gradient": "to first order, where losses have half of their largest curvature and classes overlap",
}

# Nine of ten sets of examples have at most so much more noise than is foretold to first order.
MOST = 1.3

# Powers of inputs are looked for by default from such an n epsilon on.
SEARCHED_FROM = 200

FEATURES = ("auto", "linear", "distances", "quadratic", "fourier", "grid")


@dataclass(frozen=True, repr=False, eq=False)
class Features(Gathered):
    """Public features of inputs, functions of which a kernel machine is a sum.

    Parameters
    ----------
    kind : {"auto", "linear", "distances", "quadratic", "fourier", "grid"}
        "auto" is "grid" on one or two inputs; on more "fourier" with a kernel; without one, for classes,
        "quadratic" or "distances" where n epsilon is large for the number of columns, else "linear".
        "linear" brings every record to one length, and takes the slowest cosines over the columns where
        there are many; "distances" adds the root of each one's distance from the middle of its bounds;
        "quadratic" adds the products of two. See `dpfda.records.features`.
    kernel : scikit-learn kernel or text such as "rbf:15%", optional
        For "fourier" and "grid", in units of inputs scaled from their bounds to [0, 1].
    components : int, optional
        Number of features, at most (if quadratic five or more); by default from public size and epsilon.
    seed : int
        Public seed of the frequencies of random Fourier features; the noise has none.
    power : {1, 0.5, 0.25, 0.125, 0.0625, "search"}, optional
        Inputs, scaled from their bounds to [0, 1], are raised to it first: for counts and sums of money
        from zero on, most of them far below their bounds. Public; "search" chooses it privately for a
        part of the budget, `dpfda.machines.powers`. By default it is looked for where "auto" features of
        more than two inputs tell classes apart and the solver is no sum; else it is 1.

    Examples
    --------
    >>> Features("fourier", components=50)
    Features(kind='fourier', components=50)
    """

    kind: str = "auto"
    kernel: Kernel | None = None
    components: int | None = None
    seed: int = 0
    power: float | str | None = None
    shorthand: ClassVar[str] = "kind"

    def __post_init__(self) -> None:
        choice(self.kind, "features", FEATURES)
        if isinstance(self.kernel, str):
            parse_kernel(self.kernel, (0.0, 1.0))

    @classmethod
    def of(cls, value: object) -> Features | FeatureMap:  # type: ignore[override]
        """Read the `features` of a machine; a feature map is left as it is."""
        return cast("FeatureMap", value) if hasattr(value, "inputs") else super().of(value)


@dataclass(frozen=True, repr=False, eq=False)
class Solving(Gathered):
    """How a kernel machine gets its noise, and how far its coefficients are held back. Public.

    Parameters
    ----------
    solver : {"auto", "table", "objective", "output", "sums", "means", "gradient"}
        See `dpfda.machines.table` and `dpfda.machines.solvers`.
    penalty : float, optional
        On the squared norm of the coefficients; by default from public numbers.

    Examples
    --------
    >>> Solving("sums", penalty=0.01)
    Solving(solver='sums', penalty=0.01)
    """

    solver: str = "auto"
    penalty: float | None = None
    shorthand: ClassVar[str] = "solver"


@dataclass(frozen=True, eq=False, repr=False)
class MachinePlan(PlanAgain):
    """Plan of a regression or classification function.

    Parameters
    ----------
    guarantee : PureDP, ApproximateDP or ZeroConcentratedDP
    solver : Solver
        With penalty, loss, number of units and noise.
    features : FeatureMap
    inputs : InputBox
    unit : str
    about : mapping
    classes : tuple
        Public classes; empty where there are none, or they are not stated yet.
    target : (float, float) or None
        Middle of the bounds of a regression's target, and half of their distance; None for classes.
    choice : PowerChoice, optional
        Of the power of inputs; the solver then has what it leaves, and features are those of power one.
    """

    guarantee: Budget
    solver: Solver
    features: FeatureMap
    inputs: InputBox
    unit: str
    about: Mapping[str, object]
    classes: tuple[object, ...]
    target: tuple[float, float] | None = None
    choice: PowerChoice | None = None
    bounded: ClassVar[Mapping[str, object]] = {"description": BOUND}  # type: ignore[misc]

    neighbours = said_by("solver.terms.neighbours")
    # Number of privacy units; under add/remove the public number that sums are divided by.
    size = said_by("solver.terms.units")

    # The law of the noise on what is released.
    noise = said_by("solver.noise")
    # Number of released integers, in one step where there are several.
    entries = said_by("solver.entries")

    @property
    def summary(self) -> str:
        return f"{'classification' if self.target is None else 'regression'} function"

    @property
    def functions(self) -> str:
        return self.features.describe() + ("; inputs to a power looked for" if self.choice else "")

    @property
    def tuning(self) -> dict[str, object]:
        terms = self.solver.terms
        return {
            "name": self.solver.name,
            "penalty": float(terms.penalty),
            "width": float(terms.loss.width),
            **self.solver.describe(),
            **({} if self.choice is None else {"power": SEARCHED}),
        }

    def entry(self) -> dict[str, object]:
        return super().entry() | {"summary": f"{self.solver.terms.loss.name} kernel machine"}

    def costs(self) -> dict[str, Cost]:
        chosen = {} if self.choice is None else {STAGE: Cost(self.choice.part)}
        return chosen | self.solver.costs()

    # What to expect.

    @cached_property
    def _deviations(self) -> tuple[Floats, Floats, Floats] | None:
        half = None if self.target is None else self.target[1]
        return noise_at_inputs(self.solver, self.features, self.inputs.lower.size, half)

    def outlook(self, quick: bool = False) -> Outlook | None:
        noise = self._deviations
        typical = None if noise is None else float(np.sqrt(np.mean(noise[0] ** 2)))
        return None if typical is None else Outlook(typical, MOST * typical)

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        noise = self._deviations
        if noise is None:
            return None
        wide = widths(*noise[1:], level, True, self.noise)
        # That of a regression is in units of the target, and cut at its bounds.
        half, most = (1.0, math.inf) if self.target is None else (self.target[1], 1.0)
        return Outlook.alike(float(half * np.mean(np.minimum(wide, most))))

    @property
    def error_words(self) -> str:
        if self._deviations is None:
            return (
                "none can be stated: how noise moves the functions of several classes depends on the "
                "examples; the noise is on the coefficients of the features"
            )
        return (
            "root mean square at a point of what noise does to the function, at inputs spread evenly, "
            f"{SAID[self.solver.name]}; what penalty, features and few {several(self.unit)} leave out "
            "is no part of it"
        )

    band_words = error_words

    @property
    def scale(self) -> tuple[float, str] | None:
        if self.target is None:
            return 2.0, "the distance between the targets of two classes, -1 and 1"
        return 2 * self.target[1], "the distance between the bounds of the target"

    @property
    def noise_words(self) -> str:
        return f"{self.solver.name}: {self.noise.describe()}"

    def total(
        self, values: Cells, targets: Floats, usable: Flags, codes: Integers, units: int
    ) -> IntegerSum:
        """The private sum of examples, as of `Unfeatured`, where that is what gets noise."""
        examples = Unfeatured(self.inputs, values, usable, targets, codes, units)
        return self.solver.total(examples.labelled(self.features, self.solver))

    def publish(
        self, data: Labelled | Unfeatured | IntegerSum, paying: Paying = NAMED
    ) -> ReleasedPredictor:
        """Charge, draw and release the function."""
        if isinstance(data, IntegerSum):
            return self.assemble(*self.solver.publish_total(data, self.entry(), self.tuning, paying))
        if isinstance(data, Labelled):
            return self.assemble(*self.solver.publish(data, self.entry(), self.tuning, paying))
        assert self.choice is not None  # noqa: S101
        certificate = self.certified()
        noise, part = self.choice.noise, self.choice.achieved
        charge(paying, certificate, self.entry())
        power = self.choice.chosen(data.votes())
        features = self.features if power == 1 else RootFeatures(self.features, power)
        examples, tuning = data.labelled(features, self.solver), self.tuning | {"power": power}
        with already_charged():
            noisy, last = self.solver.publish(examples, self.entry(), tuning)
        complete = certificate.fulfilled(added([part, last.achieved]), last.mechanism)
        return replace(replace(self, features=features).assemble(noisy, complete), power_noise=noise)

    def assemble(self, noisy: tuple[int, ...], certificate: Certificate) -> ReleasedPredictor:
        """The release around the mechanism's output: post-processing."""
        center, half = self.target or (0.0, 1.0)
        return ReleasedPredictor(
            task="classification" if self.target is None else "regression",
            center=center,
            half_width=half,
            classes=self.classes,
            coefficients=self.solver.coefficients(noisy),
            spread=self.solver.spread(noisy),
            inputs=self.inputs,
            features=self.features,
            loss=self.solver.terms.loss.name,
            certificate=certificate,
            size=self.size,
            noise=self.solver.noise,
            about=dict(self.about) | stamp(),
        )


@planner
def machine_plan(
    guarantee: Budget,
    units: int,
    *,
    settings: Settings,
    loss: Loss,
    inputs: InputBox,
    features: object,
    solving: Solving,
    grouped: bool,
    classes: tuple[object, ...],
    functions: int | None,
    target: tuple[float, float] | None = None,
) -> MachinePlan:
    """The plan of a machine; parameters as of `planner` and `MachinePlan`.

    features: As an estimator takes them.
    grouped: Whether a unit may have several records.
    functions: Number of decision functions; None for a regression.
    """
    solver = solving.solver
    # It says which solvers there are.
    descent = descends(solver, loss, guarantee, functions)
    if descent:
        solver = "gradient"
        settled = loss.name != "auto" or functions is None
        loss = loss if settled else read_loss("logistic", ("logistic",))
    count, chosen = inputs.lower.size, Features.of(features)
    power: Any = chosen.power if isinstance(chosen, Features) else None
    word = power if isinstance(power, str) else ""
    choice, rest, signal = None, guarantee, units * epsilon_of(guarantee)
    if word == SEARCHED:
        choice, rest = PowerChoice.of(guarantee, signal, settings.unit.relation)
    if isinstance(chosen, Features):
        stated = chosen.kind, chosen.kernel, chosen.components, chosen.seed
        feature_map = chosen_features(*stated, count, units, rest, functions, descent)
        if power is not None and choice is None:
            # On the command line a number is a word.
            power = {str(number): number for number in (1, *POWERS)}.get(word, power)
            if not (isinstance(power, int | float) and power == 1):
                feature_map = RootFeatures(feature_map, power)
    elif getattr(chosen, "inputs", None) == count:
        feature_map = chosen
    else:
        words = f"be a feature map on the {count} columns of X, or one of {FEATURES}"
        kind = repr(features) if features is None else type(features).__name__
        raise ParameterError("features", words, kind)
    terms = Terms(
        feature_map.components, units, loss, Fraction(1), rest, grouped, functions or 1,
        settings.unit.relation,
    )  # fmt: skip
    worked = chosen_solver(solver, solving.penalty, terms, functions is None)
    bare = isinstance(chosen, Features) and chosen == Features() and functions is not None
    many = count > MOST_INPUTS and signal >= SEARCHED_FROM
    if bare and many and not isinstance(worked, SummingSolver):
        # What makes no sum reads records where they lie, and may be told how.
        return machine_plan(
            guarantee, units, settings=settings, loss=loss, inputs=inputs, solving=solving,
            features=Features(power=SEARCHED), grouped=grouped, classes=classes, functions=functions,
        )  # fmt: skip
    unit, about = settings.unit.called(grouped or None), read_labels(settings.domain.labels)
    return MachinePlan(guarantee, worked, feature_map, inputs, unit, about, classes, target, choice)
