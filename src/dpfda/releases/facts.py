"""One sheet of facts of a release, and its report: texts, pages, JSON and lines are made of it.

What is read off a release: numbers with an interval around them, and verdicts of tests.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.privacy.certificates import Certificate, certificate_to_json
from dpfda.privacy.words import again, caveats, claim, number, outside, promised, protected
from dpfda.releases.bands import Band, Of
from dpfda.views.languages import IN_ENGLISH, Language

NOISE_ALONE = (
    "This is the noise that protects privacy and nothing else. It does not include what the bound cut "
    "off, what smoothing left out, or how far these data are from a wider population."
)
# Of records with survey weights.
WEIGHED = (
    "- Weights that follow from more than a record's own data, as those calibrated to the sample do: "
    "they change with whoever else is in it."
)
# What was done to records with gaps: `dpfda.records.curves`.
FILLED = (
    "Gaps within a record were filled from its own values: by straight lines on a common grid, with its "
    "first and last value before and after, else by smoothing. Results, errors and bands are of records "
    "filled so: how far these are from what was not measured is in none of them."
)


class Banded(Protocol):
    """A function with a band."""

    def __call__(self, points: ArrayLike, /) -> ArrayLike: ...
    def band(
        self, level: float = ..., simultaneous: bool = ..., points: ArrayLike | None = ...
    ) -> Band: ...
    def _even(self, points: Floats) -> slice | Flags | Integers: ...


@dataclass(frozen=True)
class Claim:
    """What the band of a release is for.

    of: {"noise", "sample", "population"}.
    holds: What lies in the band, in words.
    unit: Unit of its width, in words.
    legend: The same in two words, for a picture; not needed for the noise.
    among: In what it is meant to hold so often; "" where that follows from a known law.
    seen: How often it held where that was measured; a part of a sentence.
    name: Of the function, where there are several.
    over: Of what the band is, where it is not of the values at points.
    """

    of: Of
    holds: str
    unit: str
    legend: str = ""
    among: str = ""
    seen: str = ""
    name: str = ""
    over: str = ""

    def words(self, level: float) -> str:
        """What the band is, for a legend."""
        if self.of == "noise":
            return f"{100 * level:.4g}% band for the privacy noise{self.over}"
        if not self.among:
            return f"{100 * level:.4g}% band for {self.legend}{self.over}"
        return f"band meant to hold {self.legend}, {100 * level:.4g}%{self.over}"


@dataclass(frozen=True)
class BandFact:
    """How far a band reaches from the published values, in their units.

    Parameters
    ----------
    claim : Claim
        What the band is for.
    level : float
        Probability of the band.
    typical, largest : float
        Mean and largest distance to the farther end of the simultaneous band, over its points.
    at_a_point : float
        Mean distance to the farther end of the pointwise band.
    half_width : float
        Mean half-width of the simultaneous band: what a plan foretells.
    """

    claim: Claim
    level: float
    typical: float
    largest: float
    at_a_point: float
    half_width: float

    @classmethod
    def of(cls, claim: Claim, release: Banded, level: float) -> BandFact:
        """The accuracy of a release: the one place where it is computed."""
        band = release.band(level)
        line = np.atleast_1d(release(band.points))
        half = (band.upper - band.lower) / 2
        far, alone = (part.reach(line) for part in (band, release.band(level, False, band.points)))
        even = release._even(band.points)
        typical, at_a_point, width = (float(np.mean(widths[even])) for widths in (far, alone, half))
        return cls(claim, level, typical, float(far.max()), at_a_point, width)

    def paragraph(self, *, measured: bool = True) -> str:
        """As a paragraph of a report, with how often it held where that was `measured`."""
        claim, before = self.claim, f"{self.claim.name}: " if self.claim.name else ""
        typical, largest, alone = map(number, (self.typical, self.largest, self.at_a_point))
        if not claim.among:
            text = (
                f"with a probability of about {100 * self.level:.4g}% {claim.holds} lies, everywhere at "
                f"once, within {largest} of the published values"
            )
            text += f", and typically within {typical}" if typical != largest else ""
            text += f" ({claim.unit})."
            if alone != largest:
                text += (
                    f" At a single point chosen in advance it lies within {alone} with that probability."
                )
        else:
            seen = claim.seen if measured else ""
            text = (
                f"the band reaches typically {typical}, and at most {largest}, from the published "
                f"values ({claim.unit}). It is meant to hold {claim.holds}, everywhere at once, in "
                f"{100 * self.level:.4g} of 100 {claim.among}{seen}. At a single point chosen in "
                f"advance {alone} is enough."
            )
        if number(self.half_width) not in (typical, largest):
            text += f" Its half-width is {number(self.half_width)} on average."
        return before + (text if before else text[:1].upper() + text[1:])

    def line(self) -> str:
        """As a line on a terminal."""
        claim, often = self.claim, f"{100 * self.level:.4g}"
        within = f"within ±{number(self.largest)} of this one"
        half = number(self.half_width)
        within += f", half-width {half} on average" if half != number(self.largest) else ""
        if not claim.among:
            return f"with {often}% probability {claim.holds} lies everywhere {within} ({claim.unit})"
        cases = claim.among.partition(" ")[0]
        often = f"in {often} of 100 {cases}"
        return f"meant to hold {claim.legend} everywhere {often}: {within} ({claim.unit})"

    def to_json(self) -> dict[str, object]:
        """As JSON types."""
        claim = self.claim
        names = "level", "typical", "largest", "at_a_point", "half_width"
        sizes = {name: getattr(self, name) for name in names}
        named = {"name": claim.name} if claim.name else {}
        return {**named, "of": claim.of, "holds": claim.holds, "unit": claim.unit, **sizes}


@dataclass(frozen=True)
class Stated:
    """What a kind states of a release beside its certificate, labels and bands.

    Parameters
    ----------
    what : str
        What was published, in a sentence or a few.
    uses : str
        What may be done with it, such as "be evaluated at any point, drawn and mailed".
    noised : bool
        Whether it is said that noise was added.
    protected, promised : sequence of str
        More on who is protected, and what is promised.
    public : sequence of str
        What is taken to be public beside the bound: items without mark or full stop.
    noise : str
        How the noise is made.
    units : str
        What is public of the number of units; "" where the usual words will do.
    bounded : sequence of str
        What the bound does.
    first, remarks : sequence of str
        On accuracy, before and after what its bands say.
    uncovered : sequence of str
        What the promise does not cover, beside what none does.
    numbers : mapping
        For programs, as JSON types.
    findings : mapping of str to str
        For the terminal, beside the bands.
    """

    what: str
    uses: str = ""
    noised: bool = True
    protected: Sequence[str] = ()
    promised: Sequence[str] = ()
    public: Sequence[str] = ()
    noise: str = ""
    units: str = ""
    bounded: Sequence[str] = ()
    first: Sequence[str] = ()
    remarks: Sequence[str] = ()
    uncovered: Sequence[str] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)
    findings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """All that is stated of a release, once.

    Parameters
    ----------
    what : str
        What was published, in few words.
    of_whom : str
        Of how many units, without telling a private number.
    certificate : Certificate
        Who is promised what.
    about : mapping
        Labels, date and versions.
    units : str
        What is public of the number of units.
    bands : tuple of BandFact
        How far its bands reach, and what each is for.
    bandless : str
        Why there is none; "" where there is.
    stated : Stated
        What its kind states.
    warnings : tuple of str
        What a careful data officer would object to.
    citation : str
        Recommended wording for a publication.
    """

    what: str
    of_whom: str
    certificate: Certificate
    about: Mapping[str, object]
    units: str
    bands: tuple[BandFact, ...]
    bandless: str
    stated: Stated
    warnings: tuple[str, ...]
    citation: str

    @property
    def bound(self) -> str:
        """The public bound, in words."""
        return str(self.certificate.bound.get("description", "as the release says"))

    @property
    def fills(self) -> bool:
        """Whether gaps within records were filled."""
        return "missing" in self.about

    def published(self) -> Iterator[str]:
        """Paragraphs on what was published."""
        unit, stated = self.certificate.unit, self.stated
        noised = f" Random noise was added to protect every {unit} behind it." if stated.noised else ""
        yield f"{stated.what}{noised}"
        if stated.uses:
            yield (
                f"It can {stated.uses} as often as anyone likes. That costs no further privacy, because "
                "it uses only what was published."
            )

    def public(self) -> Iterable[str]:
        """What is taken to be public, as items of a list."""
        noise = f"how the noise is made: {self.stated.noise}" if self.stated.noise else ""
        items = [f"the bound: {self.bound}", *self.stated.public, noise, self.units]
        *others, last = filter(None, items)
        return [*(f"- {item};" for item in others), f"- {last}."]

    def accurate(self) -> list[str]:
        """Paragraphs on accuracy."""
        alone = any(band.claim.of == "noise" and not band.claim.among for band in self.bands)
        none = f"There is no band: {self.bandless}." if self.bandless else ""
        # What several bands have in common is told with the first.
        first = {band.claim.seen: band for band in reversed(self.bands)}
        bands = [band.paragraph(measured=first[band.claim.seen] is band) for band in self.bands]
        remarks = *self.stated.remarks, NOISE_ALONE if alone else "", FILLED if self.fills else ""
        return [*self.stated.first, *bands, none, *remarks]

    def lines(self) -> dict[str, str]:
        """What is worth knowing at once, by name: for the terminal and for notebooks."""
        gaps = {"gaps": "filled within each record; bands are of filled ones"} if self.fills else {}
        bands = {band.claim.name or "band": band.line() for band in self.bands}
        return bands | {**self.stated.findings} | gaps

    def card(self) -> dict[str, str]:
        """The sheet in a few rows, by name."""
        who = self.certificate.neighbours.describe(self.certificate.unit)
        sure = {"guarantee": claim(self.certificate), "neighbours": who, "bound": self.bound}
        return sure | self.lines()

    def to_json(self) -> dict[str, object]:
        """As JSON types, for programs."""
        written = certificate_to_json(self.certificate)
        sure = {name: part for name, part in written.items() if name not in ("costs", "release_id")}
        noise = {"noise": self.stated.noise} if self.stated.noise else {}
        bands = {"bands": [band.to_json() for band in self.bands]} if self.bands else {}
        own = {**noise, **bands, **self.stated.numbers}
        return {**sure, "about": dict(self.about), **own, "citation": self.citation}

    def __getitem__(self, name: str) -> object:
        """An entry of `to_json`, such as ``release.facts["verdict"]``."""
        return self.to_json()[name]


@dataclass(frozen=True)
class Estimate:
    """A number with an interval around it.

    value, lower, upper: Infinite where it was not reached.
    level: Probability of the interval.
    """

    value: float
    lower: float
    upper: float
    level: float

    @classmethod
    def around(cls, value: float, drawn: Floats, level: float) -> Estimate:
        """The interval of drawn numbers that leaves as many on either side."""
        tails = (1 - level) / 2
        lower, upper = (float(np.quantile(drawn, q, method="higher")) for q in (tails, 1 - tails))
        return cls(value, min(lower, value), max(upper, value), float(level))

    def wider(self, far: float) -> Estimate:
        """The same, on either side wider by so much."""
        return replace(self, lower=self.lower - far, upper=self.upper + far)

    def __str__(self) -> str:
        value, lower, upper = map(_reached, (self.value, self.lower, self.upper))
        return f"{value} ({100 * self.level:.4g}%: {lower} to {upper})"

    def to_json(self) -> dict[str, object]:
        """As JSON types; what was not reached is null."""
        ends = {"value": self.value, "lower": self.lower, "upper": self.upper}
        return {**{k: v if np.isfinite(v) else None for k, v in ends.items()}, "level": self.level}


@dataclass(frozen=True)
class EqualityTest:
    """What a test of equality found.

    p_value: Probability of a statistic as large where the hypothesis is true.
    level: Probability of finding a difference where there is none.
    names: What was compared.
    null: The hypothesis, in words.
    """

    statistic: float
    p_value: float
    level: float
    names: tuple[str, ...]
    null: str

    @property
    def differ(self) -> bool:
        """Whether the hypothesis is rejected."""
        return self.p_value <= self.level

    def __str__(self) -> str:
        verdict = "rejected" if self.differ else "not rejected"
        return f"that {self.null} is {verdict} at level {self.level:g} (p = {self.p_value:.3g})"


def _reached(value: float) -> str:
    return number(value) if np.isfinite(value) else "not reached"


LINE = 88
# Sections of which most is alike in all reports: on pages they are an appendix.
COMMON = (
    "Who is protected", "What is promised", "What the bound does", "What the promise does not cover",
    "Releasing again",
)  # fmt: skip
ASSUMED = (
    "The following are assumed to be known to everyone, and are printed in the release. They must not "
    "have been chosen by looking at the data:"
)


def report(facts: Facts, language: Language = IN_ENGLISH) -> str:
    """The sections of a report, in lines of at most 88 columns."""
    translated = language.all(sections(facts))
    return "\n\n".join(_section(title, words) for title, words in translated.items())


def sections(facts: Facts) -> dict[str, list[str]]:
    """The sections of a report, each with its paragraphs; those without words are left out."""
    certificate, stated = facts.certificate, facts.stated
    missing, weighed = caveats(certificate), WEIGHED if "max_weight" in facts.about else ""
    paragraphs: dict[str, Iterable[str]] = {
        "Not covered by the promise": missing,
        "What was published": facts.published(),
        "Who is protected": [*protected(certificate), *stated.protected],
        "Warnings": [warning for warning in facts.warnings if warning not in missing],
        "What is promised": [*promised(certificate), *stated.promised],
        "What is taken to be public": [ASSUMED, *facts.public()],
        "What the bound does": stated.bounded,
        "How accurate it is": facts.accurate(),
        "What the promise does not cover": [*outside(), weighed, *stated.uncovered],
        "Releasing again": again(certificate),
        "How to cite it": [facts.citation],
    }
    texts = {title: [*filter(None, words)] for title, words in paragraphs.items()}
    return {title: words for title, words in texts.items() if words}


def _section(title: str, paragraphs: Iterable[str]) -> str:
    lines = [title, "-" * len(title)]
    for paragraph in paragraphs:
        hanging = "  " if paragraph.startswith("- ") else ""
        lines += textwrap.wrap(paragraph, LINE, subsequent_indent=hanging)
    return "\n".join(lines)
