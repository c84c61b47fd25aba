"""What is said of a released regression or classification function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dpfda.machines.predictor import FADED, Predictor
from dpfda.machines.weights import deviations, factor
from dpfda.noise import KNormNoise, NoiseLaw, law_from_json
from dpfda.noise.protocol import Law
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import number
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.words import number as said
from dpfda.records.features import FeatureMap, InputBox, features_from_json
from dpfda.releases import entries as file
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import BandFact, Claim, Stated

# What fades the pictures: see `ReleasedPredictor._safe_band`.
WHERE = "for as many points at once as there are features"


@dataclass(frozen=True, eq=False)
class WordedPredictor(Predictor):
    """What `ReleasedPredictor` holds, which says what each part is, and its words."""

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

    @property
    def _descended(self) -> bool:
        """Whether steps of a descent were taken for several classes at once: then no band is known."""
        return self._several and self.mechanism["name"] == "gradient"

    @property
    def penalty(self) -> float:
        """The penalty on rough functions, which files written by earlier versions call psi."""
        return number(self.mechanism.get("penalty", self.mechanism.get("psi")))

    @property
    def _made_by(self) -> str:
        return f"{self.loss} loss, noise by the {self.mechanism['name']} solver"

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
        return Stated(
            kind,
            uses="be evaluated at any point, drawn, copied and mailed",
            public=[
                *self._public,
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
            said_of = (
                f"Bands say how far noise may have moved each function, in {LEVEL:.0%} of all releases."
            )
        elif self.spread.ndim:
            said_of = (
                f"The band says how far noise may have moved it at a point, in {LEVEL:.0%} of all "
                "releases."
            )
        else:
            far = said(wide * float(deviations(rows, self.spread)[0]))
            rests = {"objective": "the penalty", "gradient": "its steps"}.get(
                str(self.mechanism["name"])
            )
            why = f", by {rests} alone; records may have damped it" if rests else ""
            moved = "the value of each function" if self._several else "its value"
            said_of = (
                f"Noise moved {moved} at a point by at most {far} in {LEVEL:.0%} of all releases{why}."
            )
        return f"{said_of} {FADED.format(where=WHERE)}"

    def _lines(self) -> dict[str, str]:
        return {
            "loss": f"{self.loss}, penalty {self.penalty:.3g}",
            "features": self.features.describe(),
            "solver": f"{self.mechanism['name']}: {self.noise.describe()}",
        }
