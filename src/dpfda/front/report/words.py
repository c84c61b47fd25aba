"""A release in plain words: what it promises, to whom, on what assumptions, how accurately."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpfda.bases.kernels import kernel_to_json
from dpfda.front.report.accuracy import accuracy_of
from dpfda.front.report.cautions import cautions
from dpfda.front.report.lines import is_line, misfit, promise, verdict
from dpfda.front.report.numbers import (
    EXAMPLE_DELTA,
    factor,
    first_up,
    number,
    percent,
    posterior,
    thousands,
    worded_epsilon,
)
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.releases.function import NoisyCount, ReleasedFunction

LINE = 88


def public_size(release: ReleasedFunction) -> int | None:
    """Number of privacy units where the guarantee makes it public, else None."""
    if release.neighbours is Neighbours.ADD_REMOVE or isinstance(release.divisor, NoisyCount):
        return None
    return round(release.divisor)


def describe(release: ReleasedFunction) -> str:
    """Say in plain words what a release promises, to whom, and how accurate it is.

    Parameters
    ----------
    release : ReleasedFunction

    Returns
    -------
    str
        A report with lines of at most 88 columns. It uses public information only.
    """
    sections = [
        ("What was published", _published(release)),
        ("Who is protected", _protected(release)),
        ("What is promised", _promised(release)),
        ("What is taken to be public", _assumed(release)),
        ("What the bound does", _bound(release)),
        ("How accurate it is", _accurate(release)),
        ("What the promise does not cover", _outside()),
        ("Releasing again", _again(release)),
        ("How to cite it", [cited(release)]),
    ]
    objections = cautions(release.guarantee, public_size(release))
    if objections:
        sections.insert(3, ("Warnings", list(objections)))
    return "\n\n".join(_section(title, paragraphs) for title, paragraphs in sections)


def cited(release: ReleasedFunction) -> str:
    """Recommended wording for a publication."""
    unit, size = release.unit, public_size(release)
    whose = f"{size} {unit}s" if size is not None else f"a private number of {unit}s"
    return (
        f"The {_summary(release)} of {whose} was published under {release.guarantee}, with one {unit} "
        f"as the privacy unit and {release.neighbours} neighbours "
        f"({release.bound['description']}; {release.mechanism['name']} mechanism)"
        f"{_software(release)}."
    )


def _section(title: str, paragraphs: Iterable[str]) -> str:
    lines = [title, "-" * len(title)]
    for paragraph in filter(None, paragraphs):
        hanging = "  " if paragraph.startswith("- ") else ""
        lines += textwrap.wrap(paragraph, LINE, subsequent_indent=hanging)
    return "\n".join(lines)


def _published(release: ReleasedFunction) -> list[str]:
    start, end = release.domain_range
    about = release.about
    domain = about.get("domain")
    axis = f"{domain} from" if domain else "the axis from"
    values = f" Its values are {_value_words(release)}."
    made = f" It was made on {about['created']}{_software(release)}." if "created" in about else ""
    derivative = f"the derivative (of order {release.order}) of " if release.order else ""
    return [
        f"A function: {derivative}a {_summary(release)}, over {axis} {start:g} to {end:g}. Random noise "
        f"was added to protect every {release.unit} behind it.{values}{made}",
        "It can be evaluated at any point, drawn, differentiated, copied and mailed as often as "
        "anyone likes. That costs no further privacy, because it uses the published function only.",
    ]


def _protected(release: ReleasedFunction) -> list[str]:
    unit = release.unit
    if release.neighbours is Neighbours.REPLACE_ONE:
        pairs = (
            f"The promise compares what was published with what would have been published had the "
            f"data of any one {unit} been replaced by any other data whatever. The number of {unit}s "
            "is taken to be public."
        )
    else:
        pairs = (
            f"The promise compares what was published with what would have been published had any "
            f"one {unit} been left out, or one more been taken in. The number of {unit}s is private "
            "too."
        )
    limit = (
        "If one person can be behind several records, then it is each record that is protected, and "
        "not the person. Name the column that says who is who (--groups) to protect persons."
        if unit == "record"
        else f"All data of one {unit} together count as one."
    )
    return [
        f"The unit of protection is one {unit}. {limit}",
        pairs,
        f"Several {unit}s that belong together, such as relatives with like data, are protected less: "
        f"for two of them the numbers below hold with {_doubled(release.guarantee)}.",
    ]


def _doubled(guarantee: Guarantee) -> str:
    """What a guarantee becomes for two units (group privacy)."""
    if isinstance(guarantee, PureDP):
        return "epsilon doubled"
    if isinstance(guarantee, ZeroConcentratedDP):
        return "rho four times as large"
    grown = number(1 + factor(float(guarantee.epsilon)))
    return f"epsilon doubled and delta {grown} times as large"


def _promised(release: ReleasedFunction) -> list[str]:
    guarantee = release.guarantee
    epsilon = worded_epsilon(guarantee)
    unit = release.unit
    question = (
        f"whether any one {unit}'s data were used rather than other data"
        if release.neighbours is Neighbours.REPLACE_ONE
        else f"whether any one {unit}'s data were used"
    )
    high = posterior(epsilon)
    odds = (
        f"In words: an observer's odds about {question} can change by at most a factor "
        f"exp({number(epsilon)}) = {number(factor(epsilon))}, up or down, through seeing this release. "
        "This holds whatever else the observer knows, be it the data of everyone else, and however much "
        "computing power is spent."
    )
    example = (
        f"For example, a suspicion of 50% can become at most about {percent(high)} and fall to no "
        f"less than about {percent(1 - high)}; one of 1% can become at most about "
        f"{percent(posterior(epsilon, 0.01))}."
    )
    lines = [
        f"{first_up(_kind(guarantee))}. Epsilon measures how much can be learned about one {unit}: "
        "smaller is more private, and zero would mean nothing at all.",
        odds,
        example,
    ]
    if isinstance(guarantee, ApproximateDP):
        lines.append(
            f"Delta = {float(guarantee.delta):g} loosens this a little: the probability of anything "
            "that can be observed may exceed the limit set by that factor by delta. Roughly, the "
            "words above may fail with a probability of about one in "
            f"{thousands(1 / float(guarantee.delta))}."
        )
    elif isinstance(guarantee, ZeroConcentratedDP):
        lines.append(
            f"The words above are what the parameter rho = {number(float(guarantee.rho))} implies with "
            f"a probability of failure of about one in {thousands(1 / EXAMPLE_DELTA)}; for other "
            "probabilities there are other factors."
        )
    lines.append(
        "The noise in force was recomputed with exact arithmetic before it was added, and keeps within "
        f"this promise (achieved guarantee: {release.achieved})."
    )
    lines.append(
        "It is no promise that nothing can be learned about people in general. What the curve shows "
        f"of everyone together holds for any {unit} whose data were never used, too."
    )
    return lines


def _kind(guarantee: Guarantee) -> str:
    if isinstance(guarantee, PureDP):
        return (
            f"differential privacy with epsilon = {number(float(guarantee.epsilon))} (pure: delta = 0)"
        )
    if isinstance(guarantee, ApproximateDP):
        return (
            f"differential privacy with epsilon = {number(float(guarantee.epsilon))} and "
            f"delta = {float(guarantee.delta):g}"
        )
    return (
        f"zero-concentrated differential privacy with rho = {number(float(guarantee.rho))}, which "
        f"implies epsilon = {number(worded_epsilon(guarantee))} at delta = {EXAMPLE_DELTA:g}"
    )


def _assumed(release: ReleasedFunction) -> list[str]:
    start, end = release.domain_range
    grid = release.grid_points
    size = public_size(release)
    lines = [
        "The following are assumed to be known to everyone, and are printed in the release. They must "
        "not have been chosen by looking at the data:",
        f"- the bound: {release.bound['description']};",
        f"- the grid: {grid.size} points from {grid[0]:g} to {grid[-1]:g}, in the domain from "
        f"{start:g} to {end:g};",
        f"- how smooth the curve is expected to be: {_kernel_words(release)};",
        f"- how the noise is made: {release.mechanism['name']} mechanism, {release.noise.describe()};",
    ]
    if size is not None:
        lines.append(f"- the number of {release.unit}s: {size}.")
    elif isinstance(release.divisor, NoisyCount):
        lines.append(
            f"- nothing about the number of {release.unit}s. The sum was divided by a count with noise "
            f"of its own, {number(release.count)}, which is part of the release and of its epsilon."
        )
    else:
        lines.append(
            f"- the number that the sum was divided by: {number(release.count)}. It was given from "
            f"outside and need not be the number of {release.unit}s."
        )
    return lines


def _bound(release: ReleasedFunction) -> list[str]:
    bound = release.bound
    kind = bound.get("kind")
    if kind == "values" and np.ndim(bound["lower"]) + np.ndim(bound["upper"]) == 0:
        rule = (
            f"Before anything was added up, every value below {bound['lower']:g} was raised to "
            f"{bound['lower']:g} and every value above {bound['upper']:g} was lowered to "
            f"{bound['upper']:g}."
        )
    elif kind == "values":
        rule = (
            "Before anything was added up, every value outside two public limit curves was moved to "
            "the nearer of them."
        )
    elif kind == "l2":
        rule = (
            "Before anything was added up, every curve whose size (the root of the integral of its "
            f"square) was above {bound['radius']:g} was scaled down to that size."
        )
    elif kind == "box":
        rule = (
            "Before anything was added up, every curve was written as a sum of basic curves, and a part "
            f"whose size was above its own public limit ({_limits(bound)}) was cut to it."
        )
    elif kind == "ellipsoid":
        rule = (
            "Before anything was added up, every curve was written as a sum of basic curves, and if "
            "their sizes, each as a share of its own public limit, had squares that added up to more "
            "than one, the curve was scaled down until they did not. The limits: "
            f"{_limits(bound)}."
        )
    else:
        rule = (
            "Before anything was added up, every curve was written as a sum of basic curves, and if "
            f"the sizes of its parts added up to more than {bound['radius']:g}, they were lowered "
            "until they did not."
        )
    if release.about.get("standardized"):
        rule = (
            "First every curve was replaced by itself minus its own mean, divided by its own size, so "
            f"that the release shows shape alone and has no unit. {rule}"
        )
    return [
        f"{rule} So no {release.unit} can weigh more in the result than the bound allows, and the "
        "noise is just large enough to hide that much.",
        "A bound that is too narrow distorts the curve; one that is too wide adds noise. If it was "
        "read off these data, the promise does not hold: it has to come from knowledge of the "
        "measurement.",
    ]


def _limits(bound: Mapping[str, Any]) -> str:
    sizes = bound.get("half_widths", bound.get("semi_axes"))
    first, last = number(float(sizes[0])), number(float(sizes[-1]))
    return f"{len(sizes)} of them, from {first} for the first part to {last} for the last that is kept"


def _accurate(release: ReleasedFunction) -> list[str]:
    accuracy = accuracy_of(release)
    units = _value_words(release)
    if is_line(release):
        said = [verdict(release), misfit(release)]
        lines = promise(accuracy.level, accuracy.typical, accuracy.largest, accuracy.at_a_point, units)
        return [f"{first_up(said[0])}." if said[0] else "", *lines, said[1] or ""]
    return [
        f"With a probability of {accuracy.level:.0%} the published curve is, everywhere at once, within "
        f"{number(accuracy.typical)} (typically; at most {number(accuracy.largest)}) of the curve "
        f"that would have been published without noise ({units}). At a single point chosen in "
        f"advance, the noise stays within {number(accuracy.at_a_point)} with that probability.",
        "This is the noise that protects privacy and nothing else. It does not include what the "
        "bound cut off, what smoothing left out, or how far these data are from a wider population.",
    ]


def _outside() -> list[str]:
    return [
        "- Errors on data that cannot be used (missing or infinite values, words in place of "
        "numbers, lines of unequal length): such an error tells something about a record. In "
        "unattended use, choose to repair (--invalid repair): unusable records are then replaced "
        "by a fixed public one and nothing is said about values.",
        "- The names and the number of the columns, and the type of the file.",
        "- How long the program ran and how much memory it took, for those who can watch the machine.",
        "- Choices made by looking at the data: bound, kernel, domain, or whether to publish at all.",
    ]


def _again(release: ReleasedFunction) -> list[str]:
    guarantee = release.guarantee
    if isinstance(guarantee, ZeroConcentratedDP):
        total = f"rho = {number(2 * float(guarantee.rho))}"
    else:
        total = f"epsilon = {number(2 * float(guarantee.epsilon))}"
    if isinstance(guarantee, ApproximateDP):
        total += f" and delta = {2 * float(guarantee.delta):g}"
    parts = zip(release.certificate.stages, release.certificate.costs, strict=True)
    counted = "; ".join(f"{stage}, {cost.guarantee} ({cost.loss.describe()})" for stage, cost in parts)
    return [
        "Running the program again on the same data, even with the same settings, is a second release. "
        f"Losses add up: two releases like this one promise no more than {total}. Runs that nobody "
        "is shown count as well if the run to publish is picked by its result. Keep an "
        "account of all releases.",
        f"In such an account (dpfda compose) this release counts as: {counted}.",
    ]


def _summary(release: ReleasedFunction) -> str:
    return str(release.about.get("summary", "function"))


def _software(release: ReleasedFunction) -> str:
    found = release.about.get("versions", {}).get("dpfda")
    return f" with dpfda {found}" if found else ""


def _value_words(release: ReleasedFunction) -> str:
    named = release.about.get("value")
    words = f"in the units of '{named}'" if named else "in the units of the data"
    if release.about.get("standardized"):
        words = "standardised, without unit"
    return f"{words}, per unit of the axis" if release.order else words


def _kernel_words(release: ReleasedFunction) -> str:
    kernel: Any = getattr(release.basis, "kernel", None)
    words = release.basis.describe()
    written = None if kernel is None else kernel_to_json(kernel)
    if written is not None and set(written) <= {"name", "length_scale", "nu"}:
        words += (
            "; its length_scale is the distance along the axis over which values of a curve stay "
            "closely related"
        )
    return words
