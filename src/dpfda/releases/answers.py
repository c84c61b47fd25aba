"""The public answers of a session: numbers, each with its error, at the cost of one release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.protocol import flat_grid
from dpfda.bounds.stated import bound_from_json
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, check_level
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.promise import AddedNoise, checked_promise, moved_by
from dpfda.views import View

# Entries of a file that are not design.
OWN = {
    "format", "schema_version", "answers", "guarantee", "achieved_guarantee", "neighbours",
    "privacy_unit", "bound", "mechanism", "costs", "release_id", "about",
    "words", "table",
}  # fmt: skip

# What says how far one unit moves the answers, and how noisy they are.
DESIGN: file.Table = {
    "exponent": file.EXPONENT, "divisor": file.DIVISOR, "noise": file.LAW, "basis": file.ANY_BASIS,
}  # fmt: skip


@dataclass(frozen=True)
class Answer(file.Written):
    """One published answer.

    Parameters
    ----------
    number : int
        Its place in the session, from 1.
    query : dict
        What was asked, as JSON types.
    value : float
        The answer, in the units of the data times those of the functional.
    standard_error : float
        Standard deviation of its privacy noise: known, not estimated.
    degrees : int, optional
        Degrees of freedom, where the noise has a t law; normal where None.
    """

    number: int = field(metadata=file.whole_number(1).kept)
    query: dict[str, object] = field(metadata=file.MAPPING.named("question").kept)
    value: float = field(metadata=file.NUMBER.kept)
    standard_error: float = field(metadata=file.NUMBER.kept)
    degrees: int | None = field(default=None, metadata=file.whole_number(3).or_absent.kept)

    # Files call a query a question.

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Interval that contains the answer without noise with probability `level`.

        It is about the privacy noise alone: not the bias of clipping and shrinkage, nor sampling.
        """
        check_level(level)
        if self.degrees is None:
            deviations = float(scipy.special.ndtri((1 + level) / 2))
        else:
            quantile = float(scipy.special.stdtrit(self.degrees, (1 + level) / 2))
            deviations = quantile * math.sqrt((self.degrees - 2) / self.degrees)
        half = deviations * self.standard_error
        return self.value - half, self.value + half


@dataclass(frozen=True, eq=False)
class ReleasedAnswers(Release):
    """What a session has answered.

    Parameters
    ----------
    answers : tuple of Answer
    design : mapping
        Basis, noise law and further public numbers of the session, as its file has them.
    certificate : Certificate
        Of the whole session, however many queries it answers.
    about : mapping
        Labels, date and versions.
    """

    answers: tuple[Answer, ...] = field(metadata=file.many(Answer).kept)
    design: Mapping[str, object]
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-answers"
    _CALLED: ClassVar[str] = "dpfda file of answers"
    _plural: ClassVar[bool] = True
    _discrete: ClassVar[bool] = True
    _bands_are: ClassVar[str] = "Each answer has an interval: release.answers[0].interval(level)."
    _subject = "answers to queries about a function"

    def __call__(self, numbers: ArrayLike) -> float | Floats:
        """Values of answers by their number, from 1."""
        places = np.asarray(numbers)
        if not np.all((places >= 1) & (places <= len(self.answers)) & (places == np.round(places))):
            words = f"be numbers of answers, from 1 to {len(self.answers)}"
            raise ParameterError("numbers", words, "others")
        values = np.array([answer.value for answer in self.answers])[places.astype(int) - 1]
        return float(values) if np.ndim(numbers) == 0 else values

    def _to_entries(self) -> dict[str, object]:
        return {**super()._to_entries(), **self.design}

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        design = {name: part for name, part in written.items() if name not in OWN}
        entries = super()._entries(written, kernel) | {"design": design}
        certificate, law = entries["certificate"], file.from_file(design, DESIGN, kernel)
        basis, bound = law["basis"], bound_from_json(certificate.bound)
        # Its words are those of its scales.
        entries["design"] = {**design, "noise": law["noise"].to_json()}
        place = flat_grid(basis), basis.weights, law["exponent"], certificate.neighbours
        checked_promise(certificate, [AddedNoise(law["noise"], *moved_by(bound, *place))])
        return entries

    @property
    def _axes(self) -> dict[str, tuple[float, float]]:
        return {"answer": (1.0, max(2.0, float(len(self.answers))))}

    def _axis_label(self, axis: int) -> str:
        return "number of the answer"

    def _default_points(self) -> Floats:
        return np.arange(1.0, len(self.answers) + 1)[:, None]

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        values = np.atleast_1d(self(at[:, 0]))
        chosen = [self.answers[int(place) - 1] for place in at[:, 0]]
        errors = np.array([answer.standard_error for answer in chosen])
        ends = np.array([answer.interval(request.level) for answer in chosen]).reshape(-1, 2)
        words = f"end of the {request.level:.4g} interval for the privacy noise, each answer by itself"
        return {
            "value": (values, self._value_label),
            "standard_error": (errors, "standard deviation of the privacy noise"),
            "lower": (ends[:, 0], f"lower {words}"),
            "upper": (ends[:, 1], f"upper {words}"),
        }

    def view(self, level: float | None = LEVEL) -> View:
        raise ParameterError(
            "release", "be a curve or an image to be drawn", "answers to queries", "See release.table()."
        )

    def _claims(self) -> tuple[Claim, ...]:
        return (Claim("noise", "the answer without noise", self._value_label),)

    def _band_facts(self) -> Iterable[BandFact]:
        # Each answer has an interval of its own.
        return ()

    def _stated(self) -> Stated:
        return Stated(
            f"Answers to {len(self.answers)} queries about one function. One draw of random noise "
            f"protects every {self.unit} behind them; further answers of the same session cost no "
            "further privacy.",
            noised=False,
            noise=str(self.certificate.mechanism.get("name", "as its file says")),
            remarks=[
                "Every answer has a standard error of its own: the known deviation of its privacy "
                "noise. It does not include what the bound cut off, nor sampling."
            ],
            numbers={"answers": [answer.to_json() for answer in self.answers]},
        )

    def _lines(self) -> dict[str, str]:
        return {"mechanism": str(self.certificate.mechanism.get("name", "as its file says"))}

    @property
    def _headline(self) -> str:
        return f"to {len(self.answers)} queries"
