"""What a guarantee and a certificate promise, in words that a data officer can file."""

from __future__ import annotations

import math

from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition.account import USUAL_DELTA
from dpfda.privacy.composition.conversions import zcdp_epsilon
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP

# The delta at which a zero-concentrated guarantee is put into words.
EXAMPLE_DELTA = float(USUAL_DELTA)
# Beyond epsilon = 5 a suspicion of 50 per cent can become one of 99.3 per cent.
LARGE_EPSILON = 5
LARGE_DELTA = 1e-5


def worded_epsilon(guarantee: Guarantee) -> float:
    """Epsilon that the words use; for rho-zCDP the one that it implies at the usual delta."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return float(zcdp_epsilon(guarantee.rho, USUAL_DELTA))
    return float(guarantee.epsilon)


def factor(epsilon: float) -> float:
    """Factor by which odds can change."""
    return math.exp(epsilon) if epsilon < 700 else math.inf


def posterior(epsilon: float, prior: float = 0.5) -> float:
    """Largest probability that a suspicion can grow to: its odds times exp(epsilon)."""
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def percent(probability: float) -> str:
    """A probability in per cent that never reads as 0% or 100% by rounding."""
    rarer = 100 * min(probability, 1 - probability)
    if rarer < 1e-5:
        return "99.99999%" if probability > 0.5 else "0.00001%"
    digits = 2 - math.floor(math.log10(rarer))
    return f"{100 * probability:.{digits}f}".rstrip("0").rstrip(".") + "%"


def number(value: float) -> str:
    """Three significant digits, and no powers of ten where plain digits will do."""
    if math.isinf(value):
        return "more than 1e300"
    return f"{value:.3g}" if value < 1000 or value >= 1e9 else f"{value:,.0f}"


def thousands(value: float) -> str:
    """A large count with separators."""
    return f"{value:,.0f}" if value < 1e9 else f"{value:.0e}"


def first_up(text: str) -> str:
    """A text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def cautions(guarantee: Guarantee, size: int | None = None) -> tuple[str, ...]:
    """What a careful data officer would object to in a guarantee.

    size: Number of privacy units, only where it is public.
    Returns one sentence or two each, none where there is nothing to object to.
    """
    objections = []
    epsilon = worded_epsilon(guarantee)
    if epsilon > LARGE_EPSILON:
        of_rho = ""
        if isinstance(guarantee, ZeroConcentratedDP):
            rho = number(float(guarantee.rho))
            of_rho = f" It is that of rho {rho}, but for a probability of about {EXAMPLE_DELTA:g}."
        objections.append(
            f"Epsilon {number(epsilon)} is large: the odds can change by a factor of "
            f"{number(factor(epsilon))}, so that a suspicion of 50% can become one of "
            f"{percent(posterior(epsilon))}.{of_rho} Above {LARGE_EPSILON} the promise is weak; values "
            "of 1 or below are usual where the data are sensitive."
        )
    if not isinstance(guarantee, ApproximateDP):
        return tuple(objections)
    delta = float(guarantee.delta)
    why = (
        "A program that picks each unit with probability delta and publishes its data outright "
        "would satisfy a promise with this delta."
    )
    if size is not None and delta * size >= 1:
        objections.append(
            f"Delta {delta:g} is not below one over the number of units (1/{size}). {why} "
            "Choose a delta far below that."
        )
    elif delta > LARGE_DELTA:
        objections.append(f"Delta {delta:g} is above {LARGE_DELTA:g}. {why} Choose a smaller delta.")
    return tuple(objections)


def claim(certificate: Certificate) -> str:
    """The guarantee, never without what it does not cover."""
    missing = " and ".join(caveat.subject for caveat in certificate.caveats)
    return str(certificate.guarantee) + (f", not covering {missing}" if missing else "")


def caveats(certificate: Certificate) -> list[str]:
    """What the guarantee does not cover, in sentences, each with what to do instead."""
    return [f"{first_up(str(caveat))}. {caveat.remedy}" for caveat in certificate.caveats]


def in_short(certificate: Certificate) -> str:
    """The guarantee and what it means, in one line."""
    guarantee = certificate.guarantee
    most = number(factor(worded_epsilon(guarantee)))
    line = f"{claim(certificate)}: odds about one {certificate.unit} change at most {most}-fold"
    if isinstance(guarantee, PureDP):
        return line
    beside = guarantee.delta if isinstance(guarantee, ApproximateDP) else EXAMPLE_DELTA
    return f"{line}, but for a probability of about {float(beside):g}" if beside else line


def in_symbols(certificate: Certificate) -> str:
    """The guarantee as a formula, for those who read formulas."""
    pair = {
        Neighbours.REPLACE_ONE: f"that differ in the data of one {certificate.unit}",
        Neighbours.ADD_REMOVE: f"of which one has one {certificate.unit} more",
    }[certificate.neighbours]
    where = f"for all data sets D, D\u2032 {pair}"
    guarantee = certificate.guarantee
    if isinstance(guarantee, ZeroConcentratedDP):
        rate = number(float(guarantee.rho))
        return f"R\u2090(M(D) \u2016 M(D\u2032)) \u2264 {rate} a for all orders a > 1, {where}"
    bound = f"exp({number(float(guarantee.epsilon))}) P[M(D\u2032) \u2208 S]"
    if isinstance(guarantee, ApproximateDP):
        bound += f" + {float(guarantee.delta):g}"
    return f"P[M(D) \u2208 S] \u2264 {bound} for all events S and {where}"


def protected(certificate: Certificate) -> list[str]:
    """Who is protected."""
    unit = certificate.unit
    if certificate.neighbours is Neighbours.REPLACE_ONE:
        pairs = (
            f"The promise compares what was published with what would have been published had the "
            f"data of any one {unit} been replaced by any other data whatever. The number of "
            f"{several(unit)} "
            "is taken to be public."
        )
    else:
        pairs = (
            f"The promise compares what was published with what would have been published had any "
            f"one {unit} been left out, or one more been taken in. The number of {several(unit)} is "
            "private too."
        )
    limit = (
        "If one person can be behind several records, then it is each record that is protected, and "
        "not the person. Name the column that says who is who (--groups) to protect persons."
        if unit == "record"
        else f"All data of one {unit} together count as one, provided that each has a single record or "
        "that records were grouped by it."
    )
    return [
        f"The unit of protection is one {unit}. {limit}",
        pairs,
        f"Several {several(unit)} that belong together, such as relatives with like data, are "
        "protected less: "
        f"for two of them the numbers below hold with {_doubled(certificate.guarantee)}.",
    ]


def promised(certificate: Certificate) -> list[str]:
    """What is promised."""
    guarantee, unit = certificate.guarantee, certificate.unit
    epsilon = worded_epsilon(guarantee)
    other = " rather than other data" if certificate.neighbours is Neighbours.REPLACE_ONE else ""
    high = posterior(epsilon)
    return [
        f"{first_up(_kind(guarantee))}. Epsilon measures how much can be learned about one {unit}: "
        "smaller is more private, and zero would mean nothing at all.",
        f"In words: an observer's odds about whether any one {unit}'s data were used{other} can change "
        f"by at most a factor exp({number(epsilon)}) = {number(factor(epsilon))}, up or down, through "
        "seeing this release. This holds whatever else the observer knows, be it the data of everyone "
        "else, and however much computing power is spent.",
        f"For example, a suspicion of 50% can become at most about {percent(high)} and fall to no "
        f"less than about {percent(1 - high)}; one of 1% can become at most about "
        f"{percent(posterior(epsilon, 0.01))}.",
        *_loosened(guarantee),
        _risked(certificate),
        "The noise in force was recomputed with exact arithmetic before it was added, and keeps within "
        f"this promise (achieved guarantee: {certificate.achieved}).",
        "It is no promise that nothing can be learned about people in general. What the release shows "
        f"of everyone together holds for any {unit} whose data were never used, too.",
    ]


def _risked(certificate: Certificate) -> str:
    risk, unit, alarms = certificate.attack_risk(), certificate.unit, 0.05
    open_question = {
        Neighbours.REPLACE_ONE: f"which of two possible data of one {unit} were used",
        Neighbours.ADD_REMOVE: f"whether the data of one {unit} were used",
    }[certificate.neighbours]
    return (
        f"The best attacker there can be knows everything but {open_question}. By chance 50% of "
        f"guesses are right; with this release at most {percent(risk.guess)} are. An attacker who "
        f"raises a false alarm in {percent(alarms)} of cases still misses at least "
        f"{percent(float(risk.misses(alarms)))}."
    )


def again(certificate: Certificate) -> list[str]:
    """What another release would add."""
    guarantee = certificate.guarantee
    if isinstance(guarantee, ZeroConcentratedDP):
        total = f"rho = {number(2 * float(guarantee.rho))}"
    else:
        total = f"epsilon = {number(2 * float(guarantee.epsilon))}"
    if isinstance(guarantee, ApproximateDP):
        total += f" and delta = {2 * float(guarantee.delta):g}"
    parts = zip(certificate.stages, certificate.costs, strict=True)
    counted = "; ".join(f"{stage}, {cost.guarantee} ({cost.loss.describe()})" for stage, cost in parts)
    return [
        "Running the program again on the same data, even with the same settings, is a second release. "
        f"Losses add up: two releases like this one promise no more than {total}. Runs that nobody "
        "is shown count as well if the run to publish is picked by its result. Keep an "
        "account of all releases.",
        f"In such an account (dpfda compose) this release counts as: {counted}.",
    ]


def outside() -> list[str]:
    """What the promise of any release does not cover."""
    return [
        "- Errors on data that cannot be used (missing or infinite values, words in place of "
        "numbers, lines of unequal length): such an error tells something about a record. In "
        "unattended use, choose to repair (--invalid repair): unusable records are then replaced "
        "by a fixed public one and nothing is said about values.",
        "- The names and the number of the columns, and the type of the file.",
        "- How long the program ran and how much memory it took, for those who can watch the machine.",
        "- Choices made by looking at the data: bound, kernel, domain, or whether to publish at all.",
    ]


def _doubled(guarantee: Guarantee) -> str:
    """What a guarantee becomes for two units (group privacy)."""
    if isinstance(guarantee, PureDP):
        return "epsilon doubled"
    if isinstance(guarantee, ZeroConcentratedDP):
        return "rho four times as large"
    grown = number(1 + factor(float(guarantee.epsilon)))
    return f"epsilon doubled and delta {grown} times as large"


def _kind(guarantee: Guarantee) -> str:
    if isinstance(guarantee, ZeroConcentratedDP):
        return (
            f"zero-concentrated differential privacy with rho = {number(float(guarantee.rho))}, which "
            f"implies epsilon = {number(worded_epsilon(guarantee))} at delta = {EXAMPLE_DELTA:g}"
        )
    line = f"differential privacy with epsilon = {number(float(guarantee.epsilon))}"
    if isinstance(guarantee, PureDP):
        return f"{line} (pure: delta = 0)"
    return f"{line} and delta = {float(guarantee.delta):g}"


def _loosened(guarantee: Guarantee) -> list[str]:
    if isinstance(guarantee, ApproximateDP):
        return [
            f"Delta = {float(guarantee.delta):g} loosens this a little: the probability of anything "
            "that can be observed may exceed the limit set by that factor by delta. Roughly, the "
            "words above may fail with a probability of about one in "
            f"{thousands(1 / float(guarantee.delta))}."
        ]
    if isinstance(guarantee, ZeroConcentratedDP):
        return [
            f"The words above are what the parameter rho = {number(float(guarantee.rho))} implies with "
            f"a probability of failure of about one in {thousands(1 / EXAMPLE_DELTA)}; for other "
            "probabilities there are other factors."
        ]
    return []
