"""What is said of a released regression or classification function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpfda.machines.weights import deviations, factor
from dpfda.noise import KNormNoise, NoiseLaw
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import number
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number as said
from dpfda.records.features import FeatureMap, InputBox
from dpfda.releases.banded import Banded
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import BandFact, Claim, Stated

# Inputs that a report names.
LONGEST = 8


@dataclass(frozen=True, eq=False)
class WordedPredictor(Banded):
    """What `ReleasedPredictor` holds, which says what each part is, and its words."""

    task: str
    inputs: InputBox
    features: FeatureMap
    coefficients: Floats
    center: float
    half_width: float
    classes: tuple[object, ...]
    loss: str
    certificate: Certificate
    size: int
    noise: NoiseLaw | SymmetricNoise
    about: Mapping[str, object] = field(default_factory=dict)
    spread: Floats | None = None

    @property
    def dimensions(self) -> int:
        """Number d of inputs."""
        return self.features.inputs

    @property
    def _several(self) -> bool:
        """Whether there is one function a class."""
        return self.coefficients.ndim == 2

    @property
    def _descended(self) -> bool:
        """Whether steps of a descent were taken for several classes at once: then no band is known."""
        return self._several and self.mechanism["name"] == "gradient"

    @property
    def _followed(self) -> bool:
        """Whether the band follows the records: elsewhere it is nearly one width everywhere."""
        return self.spread is not None and self.spread.ndim > 1

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
    def penalty(self) -> float:
        """The penalty on rough functions, which files written by earlier versions call psi."""
        return number(self.mechanism.get("penalty", self.mechanism.get("psi")))

    @property
    def _made_by(self) -> str:
        return f"{self.loss} loss, noise by the {self.mechanism['name']} solver"

    @property
    def public_units(self) -> int | None:
        return self.size if self.neighbours is Neighbours.REPLACE_ONE else None

    @property
    def value_label(self) -> str:
        if self.task != "classification":
            return str(self.about.get("value", "target"))
        # A picture over two inputs shows the classes that are predicted.
        if self._several and self.dimensions > 1:
            return f"predicted {self.about.get('value', 'class')}"
        return self._decision

    @property
    def _decision(self) -> str:
        rule = "the largest decides" if self._several else f"above 0: {self.classes[1]}"
        said = f"decision function {self.about.get('value', '')}".rstrip()
        return f"{said} ({rule})"

    def _stated(self) -> Stated:
        inputs = f"{self.dimensions} input{'' if self.dimensions == 1 else 's'}"
        if self._several:
            kind = (
                f"A function of {inputs} for each of {len(self.classes)} classes; the largest decides."
            )
            target = f"the classes: {', '.join(map(repr, self.classes))}"
        elif self.classes:
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
        return Stated(
            kind,
            uses="be evaluated at any point, drawn, copied and mailed",
            public=[
                f"the bounds of the inputs: {', '.join(bounds[:LONGEST])}{more}; values outside were "
                "moved to the nearer bound",
                target,
                f"the features: {self.features.describe()}",
                f"the loss ({self.loss}) and the penalty on rough functions ({self.penalty:.3g})",
            ],
            noise=f"{self.mechanism['name']} solver, {self.noise.describe()}",
            units=""
            if self.public_units is not None
            else f"the number that sums were divided by: {self.size}",
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
        return (Claim("noise", "the function without noise", self.value_label),)

    def _band_facts(self) -> Iterable[BandFact]:
        # Many inputs have no grid: `_accuracy` says how wide it is at a point.
        return ()

    def _accuracy(self) -> str:
        """How far noise may have moved the function, in words."""
        if self.spread is None:
            return ""
        rows = np.eye(self.features.components)[:1]
        knorm = self.spread.ndim == 0 and isinstance(self.noise, KNormNoise)
        wide = factor(self.features.components, LEVEL, False, knorm) * self.half_width
        if self.spread.ndim == 3:
            return (
                f"Bands say how far noise may have moved each function, in {LEVEL:.0%} of all releases."
            )
        if not self._followed:
            far = said(wide * float(deviations(rows, self.spread)[0]))
            rests = {"objective": "the penalty", "gradient": "its steps"}.get(
                str(self.mechanism["name"])
            )
            why = f", by {rests} alone; records may have damped it" if rests else ""
            moved = "the value of each function" if self._several else "its value"
            return (
                f"Noise moved {moved} at a point by at most {far} in {LEVEL:.0%} of all releases{why}."
            )
        return (
            f"The band says how far noise may have moved it at a point, in {LEVEL:.0%} of all releases. "
            "Where it is wider than half of the bounds, or holds both classes, the picture is faded."
        )

    def _lines(self) -> dict[str, str]:
        return {
            "loss": f"{self.loss}, penalty {self.penalty:.3g}",
            "features": self.features.describe(),
            "solver": f"{self.mechanism['name']}: {self.noise.describe()}",
        }

    @property
    def _headline(self) -> str:
        *rest, last = map(repr, self.classes) if self.classes else ("",)
        classes = f", classes {', '.join(rest)} and {last}" if rest else ""
        plural = "" if self.dimensions == 1 else "s"
        return f"({self.task} on {self.dimensions} input{plural}{classes})"
