"""The released regression or classification function: coefficients of public features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.grids import frozen
from dpfda.bases.ordinary import spread_evenly
from dpfda.bounds import IntegerBall
from dpfda.machines.errors import deviations, factor, is_block, widths
from dpfda.machines.minimiser import Loss
from dpfda.machines.powers import STAGE, PowerChoice
from dpfda.machines.predictor import FADED, Predictor
from dpfda.machines.solvers import Solver, Terms
from dpfda.machines.stored_solvers import CLOSE, check_descended, check_shares, moved_by, solver_again
from dpfda.noise import Law, NoiseLaw, law_from_json
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping, number
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, added, pure_part
from dpfda.privacy.words import number as words
from dpfda.records.features import FeatureMap, InputBox, embedded, feature_ball, features_from_json
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, check_level
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.promise import AddedNoise, certified, one_cost, sum_costs
from dpfda.releases.published import as_given

# What fades the pictures: see `ReleasedPredictor._safe_band`.
WHERE = "for as many points at once as there are features"
# Points between the bounds, of at most so many inputs, and the share at which a class is hardly named.
EVENLY, MOST, HARDLY = 1000, 30, 0.1
# What holds every example in bounds.
BOUND = "inputs and targets clipped to public bounds, features to length one"

ONE_SIDED = (
    "At more than nine of ten points spread evenly between the bounds it predicts the same class: it "
    "may do so for everybody. Where one class is rare, rank by its values, or choose another border "
    "than zero."
)
RANKS = " The logistic loss on linear features ranks a rare class better."

# Solvers of files by earlier versions, and their number of costs, whose noise is not held to these.
EARLIER = ("sums", 1), ("objective", 1)
# Solvers whose spread follows from their noise alone.
FOLLOWING = "output", "objective", "means"


@dataclass(frozen=True, eq=False)
class ReleasedPredictor(Predictor):
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
    coefficients : array (K,) or (K, C)
        Noisy coefficients of the features, on the scale of targets in [-1, 1]; one column a class where
        there are more than two.
    center, half_width : float
        Regression: the middle of the target bounds and half their distance, in units of the target; a
        value is center + half_width * (coefficients . features). Classification: 0 and 1.
    classes : tuple
        Classification: the public classes. Of two, the second is predicted where the function is
        positive; of more, that whose function is largest.
    loss : str
        The loss that was minimised.
    certificate : Certificate
        What it promises to whom, and what it cost: with the solver, the penalty and other public tuning.
    size : int
        Public number of privacy units, or that sums were divided by under add/remove neighbours.
    noise : NoiseLaw or SymmetricNoise
        Law of the last noise that was added to the integers behind the coefficients.
    spread : array () or (K, K), or (C, K, K) for several classes; optional
        What is known of the noise in the coefficients: the largest deviation in any direction, or their
        covariance, or that of each class. None where there is no band.
    about : mapping
        Versions, date, words for the axes.
    power_noise : NoiseLaw, optional
        Law of the noise on the votes for a power of the inputs, where it was looked for.

    Examples
    --------
    >>> from dpfda import PrivateKernelRegressor
    >>> x = np.linspace(0, 1, 400)
    >>> machine = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(-1, 1))
    >>> machine.fit(x[:, None], np.sin(6 * x)).release_([0.25, 0.75]).shape
    (2,)
    """

    task: str = field(metadata=file.NAME.kept)
    inputs: InputBox
    features: FeatureMap = field(metadata=file.itself(features_from_json).kept)
    coefficients: Floats = field(metadata=file.PACKED.kept)
    center: float = field(metadata=file.NUMBER.kept)
    half_width: float = field(metadata=file.NUMBER.kept)
    classes: tuple[object, ...] = field(metadata=file.SEQUENCE.kept)
    loss: str = field(metadata=file.NAME.kept)
    certificate: Certificate
    size: int = field(metadata=file.whole_number(0).named("units").kept)
    noise: NoiseLaw | SymmetricNoise = field(metadata=file.itself(partial(law_from_json, kind=Law)).kept)
    about: Mapping[str, object] = field(default_factory=dict)
    spread: Floats | None = field(default=None, metadata=file.PACKED.or_absent.kept)
    power_noise: NoiseLaw | None = field(default=None, metadata=file.LAW.or_absent.kept)

    _FORMAT: ClassVar[str] = "dpfda-predictor"
    _CALLED: ClassVar[str] = "released predictor"
    _ENTRIES: ClassVar[file.Table] = {
        "inputs.lower": file.FLOATS.named("lower"),
        "inputs.upper": file.FLOATS.named("upper"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        several = (len(self.classes),) if len(self.classes) > 2 else ()
        shape = (self.features.components, *several)
        if self.coefficients.shape != shape:
            shape_found = f"shape {self.coefficients.shape}"
            raise ParameterError("coefficients", f"have shape {shape}", shape_found)
        pairs = several + shape[:1] * 2
        if self.spread is not None and self.spread.shape not in ((), pairs):
            raise ParameterError("spread", "be a number or one a pair of features", "others")

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
        array (q,) or (q, C)
            In units of the target; for classification the decision function, which is not bounded, or
            for more than two classes that of each.

        Raises
        ------
        ParameterError
            If the points have another shape or are not finite.
        """
        values = np.asarray(self.center + self.half_width * (self._rows(points) @ self.coefficients))
        if self.task == "classification":
            return values
        return np.clip(values, self.center - self.half_width, self.center + self.half_width)

    @cached_property
    def _table_rows(self) -> Floats:
        """Features (N, K) of the points of its table."""
        return frozen(self._rows(self._default_points()))

    def _rows(self, points: ArrayLike) -> Floats:
        """Features (q, K) of points."""
        at = self.inputs.scaled(self._points(points))
        return np.asarray(embedded(self.features, self._ball, at) * self._ball.step)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band around the function for what noise did to it: not for penalty, features or few records.

        Notes
        -----
        There is none of a file written before there were bands. That of a regression is cut at the
        public bounds of the target, but where the exact one is asked for.

        Of more than two classes the ends are arrays (q, C), one column a class; a simultaneous band is
        for all points and classes at once. Blocks of noise on the means are independent; normal noise
        is in all C symmetric convex sets at least as often as if it were (Royen 2014). So each class
        has the band of the level's C-th root. After a descent there is none for several classes: with
        slopes that are clipped together two paths may part, and how far noise moves them is not known.

        With noise on the minimiser (solver "output") or on the means it follows from the law of the
        noise. With noise on the sums it is of first order in the noise, whose covariance is known, and
        taken as normal. With noise in the objective it rests on the penalty alone, with noise in the
        steps of a descent on their number and size: of first order, and wide. The simultaneous band is
        for the points of its table at once, with more than two inputs for those that are given.
        """
        if self.spread is None:
            raise ParameterError(
                "release",
                "have known noise for a band",
                "none",
                "After a descent for more than two classes, whose slopes are clipped together, it may "
                "grow: use two classes, or solver='sums' or 'means'."
                if self._descended
                else "",
            )
        level, simultaneous = asked.level, asked.simultaneous
        own = level ** (1 / len(self.classes)) if self._several and simultaneous else level
        # Where a domain has a table, a band does not depend on where else it is asked for.
        table = self._table_rows if simultaneous and self.dimensions <= 2 else None
        line, rows = self(at), self._rows(at)
        half = self.half_width * widths(rows, self.spread, own, simultaneous, self.noise, table)
        if self._several and half.ndim == 1:
            half = half[:, None]
        lower, upper = line - half, line + half
        if self.task == "regression" and not asked.exact:
            ends = self.center - self.half_width, self.center + self.half_width
            lower, upper = np.clip(lower, *ends), np.clip(upper, *ends)
        return Band(as_given(at), lower, upper, level, simultaneous, "what noise did to the function")

    @property
    def has_probabilities(self) -> bool:
        """Whether the loss was the logistic one."""
        return self.loss == "logistic" and self.task == "classification"

    def predict_proba(self, points: ArrayLike) -> Floats:
        """Probabilities (q, 2) or (q, C) of the classes, for the logistic loss.

        Raises
        ------
        ParameterError
            For another loss, which has no probabilities.
        """
        if not self.has_probabilities:
            raise ParameterError("loss", "be 'logistic' for probabilities", repr(self.loss))
        values = self(points)
        if self._several:
            return np.asarray(scipy.special.softmax(values, axis=1))
        second = scipy.special.expit(values)
        return np.column_stack([1.0 - second, second])

    def _safe_band(self, at: Floats, level: float) -> Band:
        # Else noise alone would stand out somewhere: it has about as many places as there are functions.
        return self.band(check_level(level) ** (1 / self.features.components), False, at)

    # Its file.

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        held = super()._entries(written, kernel)
        count, ends = held["features"].inputs, [held.pop(f"inputs.{end}") for end in ("lower", "upper")]
        if any(end.shape != (count,) for end in ends):
            raise ValueError("bounds and features differ in number")
        return held | {"inputs": InputBox.of(np.column_stack(ends).tolist(), count)}

    @classmethod
    def _charged(cls, written: Mapping[str, object], held: file.Held) -> Certificate:
        noise, mechanism = held["noise"], mapping(written["mechanism"])
        # A perturbed objective spends epsilon before the noise that the file holds.
        one_sum = mechanism["name"] in ("output", "sums", "means")
        costs = partial(sum_costs, noise, 1.0) if one_sum else one_cost
        laws = [noise] if held["power_noise"] is None else [noise, held["power_noise"]]
        return certified(written, costs, lambda: ({"description": BOUND}, mechanism), laws)

    def _stated_bound(self) -> dict[str, object]:
        return {"description": BOUND}

    def _checked(self) -> None:
        _ = self.penalty  # A file without one is refused when it is read.
        follows = "penalty" in self.certificate.mechanism and self._named in FOLLOWING
        if follows and self.spread is not None:
            # The file's noise is held to the same numbers by what it was charged.
            spread = self._solver.spread(())
            if spread is None or not np.allclose(self.spread, spread, rtol=CLOSE, atol=0):
                raise ValueError("the spread is not that of the noise")
        if self.spread is not None and self._named == "gradient":
            check_descended(self._solver, self.noise, self.certificate.mechanism, self.spread)

    def _added_noise(self) -> list[AddedNoise]:
        before = []
        if STAGE in self.certificate.stages:
            choice = PowerChoice(pure_part(self.certificate.costs[0].guarantee), self.neighbours)
            if self.power_noise != choice.noise:
                raise ValueError("the noise on the choice of a power is not that of its cost")
            before = [AddedNoise(self.power_noise, "l1", choice.apart, 0)]
        paid = self._paid
        if "psi" in self.certificate.mechanism and (self._named, len(paid)) in EARLIER:
            # Their sums had noise of another law, and their objective is not said what its parts cost.
            return before
        check_shares(self._solver, self.noise, paid)
        return [
            *before,
            AddedNoise(self.noise, *moved_by(self._solver, self.noise, self.certificate.mechanism)),
        ]

    @property
    def _named(self) -> str:
        """Name of the solver."""
        return str(self.certificate.mechanism["name"])

    @property
    def _paid(self) -> list[Guarantee]:
        """What was charged for the solver."""
        costs = self.certificate.costs[STAGE in self.certificate.stages :]
        return [cost.guarantee for cost in costs]

    @cached_property
    def _solver(self) -> Solver:
        """The solver that was charged, made again."""
        mechanism = self.certificate.mechanism
        loss = Loss(self.loss, Fraction(number(mechanism["width"])))
        functions = len(self.classes) if self._several else 1
        terms = Terms(
            self.features.components, self.size, loss, Fraction(self.penalty), added(self._paid), False,
            functions, self.neighbours,
        )  # fmt: skip
        return solver_again(mechanism, terms)

    @property
    def _bandless(self) -> str:
        if self.spread is not None:
            return ""
        if self._descended:
            return (
                "how far noise moved the functions is not known after a descent for more than two "
                "classes, whose slopes are clipped together"
            )
        return "how far noise moved the function is not in this release"

    # Words.

    @property
    def _descended(self) -> bool:
        """Whether steps of a descent were taken for several classes at once: then no band is known."""
        return self._several and self._named == "gradient"

    @property
    def penalty(self) -> float:
        """The penalty on rough functions, which files written by earlier versions call psi."""
        return number(self.certificate.mechanism.get("penalty", self.certificate.mechanism.get("psi")))

    @property
    def _made_by(self) -> str:
        return f"{self.loss} loss, noise by the {self._named} solver"

    @property
    def _power_words(self) -> str:
        """The noise that chose the power, in words."""
        if self.power_noise is None:
            return ""
        return (
            f"; for the power, {self.power_noise.describe().replace('coefficients', 'numbers of votes')}"
        )

    def _one_sided(self) -> list[str]:
        """A warning where one of two classes is hardly ever predicted."""
        if len(self.classes) != 2 or self.dimensions > MOST:
            return []
        wide = self.inputs.upper - self.inputs.lower
        share = np.mean(self(self.inputs.lower + wide * spread_evenly(EVENLY, self.dimensions)) > 0)
        better = "" if self.loss == "logistic" else RANKS
        return [ONE_SIDED + better] if min(share, 1 - share) < HARDLY else []

    def _stated(self) -> Stated:
        inputs = self._said_inputs
        if self._several:
            kind = (
                f"A function of {inputs} for each of {len(self.classes)} classes; the largest decides."
            )
        elif self.classes:
            first, second = self.classes
            above = f"above zero where it predicts {second!r}, else {first!r}"
            kind = f"A function of {inputs} that is {above}."
        else:
            kind = f"A function of {inputs} that predicts {self.about.get('value', 'a number')}."
        searched = " (the power was chosen from records, for a part of the promise)"
        searched = searched if "power" in self.certificate.mechanism else ""
        return Stated(
            kind,
            uses="be evaluated at any point, drawn, copied and mailed",
            public=[
                *self._public,
                f"the features: {self.features.describe()}{searched}",
                f"the loss ({self.loss}) and the penalty on rough functions ({self.penalty:.3g})",
            ],
            noise=f"{self._named} solver, {self.noise.describe()}{self._power_words}",
            units=""
            if self.public_units is not None
            else f"the number that sums were divided by: {self.size}",
            first=self._one_sided(),
            remarks=[
                self._accuracy(),
                "How far penalty and features moved it is not said, nor how well it predicts.",
            ],
            numbers={
                "units": self.size,
                "task": self.task,
                "loss": self.loss,
                "classes": list(self.classes),
                "features": self.features.describe(),
            },
        )

    def _claims(self) -> tuple[Claim, ...]:
        # A label that says where classes part has brackets of its own.
        unit = self._value if self.classes else self._value_label
        return (Claim("noise", "the function without noise", unit),)

    def _band_facts(self) -> Iterable[BandFact]:
        # Many inputs have no grid: `_accuracy` says how wide it is at a point.
        return ()

    def _accuracy(self) -> str:
        """How far noise may have moved the function, in words."""
        if self.spread is None:
            return ""
        rows = np.eye(self.features.components)[:1]
        block = is_block(self.spread, self.noise)
        wide = factor(self.features.components, LEVEL, block) * self.half_width
        if self.spread.ndim == 3:
            said_of = (
                f"Bands say how far noise may have moved each function, in {LEVEL:.0%} of all releases."
            )
        elif self.spread.ndim:
            said_of = (
                f"The band says how far noise may have moved it at a point, in {LEVEL:.0%} of all "
                "releases."
            )
        else:
            far = words(wide * float(deviations(rows, self.spread)[0]))
            moved = "the value of each function" if self._several else "its value"
            said_of = f"Noise moved {moved} at a point by at most {far} in {LEVEL:.0%} of all releases."
            if self._named in ("objective", "gradient"):
                said_of += " Mostly it was far less: by how much records damp noise is private."
        return f"{said_of} {FADED[self.task].format(where=WHERE)}"

    def _lines(self) -> dict[str, str]:
        return {
            "loss": f"{self.loss}, penalty {self.penalty:.3g}",
            "features": self.features.describe(),
            "solver": f"{self._named}: {self.noise.describe()}{self._power_words}",
        }
