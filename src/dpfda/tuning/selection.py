"""Private selection: the best of several private runs, with the choice paid for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import scipy
from flint import arb

from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.exactness import BitSource, draw_rounded, enclosed
from dpfda.numerics.parameters import exact, readable, shown
from dpfda.privacy.caveats import already_charged, joined
from dpfda.privacy.certificates import Certificate, Certified
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Neighbours, PureDP, budget, within
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import certified_entry, charge

# Expected runs for each candidate: the best one is then never tried with a chance of about 1/11.
RUNS_EACH = 10
# The one stage of a selection.
SELECTION = "selection"
# Below this the law is so wide that its draws leave the range of what can be run.
# More runs than these would take for ever, and a larger shape leaves a run next to no budget.
MOST_RUNS, LARGEST_SHAPE, SMALLEST_SHAPE = 10**6, 100, Fraction(1, 10**6)
SMALLEST_GAMMA = 1e-12

Candidate = TypeVar("Candidate")
Output = TypeVar("Output")


@dataclass(frozen=True, eq=False)
class Selection(Certified, Generic[Output]):
    """What a private selection publishes. How often it ran is secret and is not kept.

    Parameters
    ----------
    release : object
        The best run's output. Where it is one of this library's releases its guarantee is the
        selection's, not that of one run.
    index : int
        Which candidate made it.
    certificate : Certificate
        Of the whole selection.
    stopping : Stopping
        Public law of the number of runs.
    """

    release: Output
    index: int
    certificate: Certificate
    stopping: Stopping


def private_selection(
    candidates: Sequence[Candidate],
    fit: Callable[[Candidate, Fraction], Output],
    score: Callable[[Output], float],
    epsilon: object,
    *,
    eta: object = 1,
    expected_runs: object = None,
    neighbours: str = "replace-one",
    unit: str = "record",
    ledger: object = None,
) -> Selection[Output]:
    """Run private mechanisms with candidates drawn at random, a random number of times; keep the best.

    Parameters
    ----------
    candidates : sequence
        What to choose from; public, fixed before the data are seen.
    fit : callable
        `fit(candidate, epsilon)` makes one private run on the data and returns its output, with its
        attributes `guarantee` (pure, at most the `epsilon` it was given), `neighbours` and `unit`. Each
        call must use fresh noise and nothing of the calls before it. It must not charge a ledger.
    score : callable
        `score(output)` is the larger the better, NaN the worst. It may use the output and public
        numbers: one that looks at the private data otherwise voids the guarantee.
    epsilon : number or text
        Privacy loss of the whole selection, from 1e-9 to 1e9. One run gets epsilon / (2 + eta).
    eta : number
        Shape of the stopping law, above -1; 1 is geometric stopping at three times a run's loss.
    expected_runs : number, optional
        Expected number of runs, above 1; by default 10 for each candidate.
    neighbours : {"replace-one", "add-remove"}
        Relation under which the runs are private.
    unit : str
        Who is protected, as the runs name it.
    ledger : ledger.of(dataset), optional
        Charged once, before the first run; as in `dpfda.PrivateMean`.

    Returns
    -------
    Selection

    Raises
    ------
    ParameterError
        If a public argument is unusable. Nothing was charged.
    BudgetError
        If the ledger refuses. Nothing was run.
    DpfdaError
        If a run's guarantee is not what was asked for; nothing is published, the charge stays.

    Notes
    -----
    **Guarantee.** Pure (2 + eta) e for runs of pure e (Liu & Talwar 2019; Papernot & Steinke 2022), by
    the proof on the page "Choosing tuning". The number of runs must stay secret: **the time that a
    selection takes tells something of it**, and so does what `fit` writes to disk or prints.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 400)[:, None]
    >>> first, second = curves[::2], curves[1::2]
    >>> rough = PrivateMean(1.0, bounds=(-1.5, 1.5)).fit(first).release_  # public from here on
    >>> grid = np.linspace(0, 1, 20)
    >>> def fit(mechanism, epsilon):
    ...     return PrivateMean(epsilon, bounds=(-1.5, 1.5), mechanism=mechanism).fit(second).release_
    >>> def score(release):
    ...     return -np.sum((release(grid) - rough(grid)) ** 2)
    >>> chosen = private_selection(["laplace", "knorm"], fit, score, 1.0, expected_runs=5)
    >>> print(chosen.guarantee)
    1-differential privacy (pure)
    """
    _check_candidates(candidates)
    account = read_ledger(ledger)
    for name, function in (("fit", fit), ("score", score)):
        if not callable(function) or isinstance(function, type):
            raise ParameterError(name, "be a function", shown(function))
    if not (isinstance(unit, str) and unit):
        raise ParameterError("unit", "be a word for who is protected", shown(unit))
    total = PureDP(budget(epsilon).epsilon)
    relation = Neighbours.parse(neighbours)
    runs = RUNS_EACH * len(candidates) if expected_runs is None else expected_runs
    stopping = Stopping.with_mean(eta, runs)
    part = PureDP(total.epsilon / stopping.price)
    entry = _entry(relation, unit, len(candidates), stopping)
    # The best of several runs does not have the law of one run's noise.
    certificate = certified_entry({SELECTION: Cost(total)}, entry)
    charge(account, certificate, entry)
    best: tuple[float, int, Output] | None = None
    for _ in range(stopping.draw()):
        index = _any_of(len(candidates))
        with already_charged():
            output = fit(candidates[index], part.epsilon)
        _verify(output, part, relation, unit)
        value = _ranked(score(output))
        # The first of equals stays: the proof wants the choice among them to be independent of them.
        if best is None or value > best[0]:
            best = (value, index, output)
    assert best is not None  # noqa: S101  a stopping law has at least one run
    # What no charge covers within a run: a search of its own, steps fitted before it.
    inside = getattr(getattr(best[2], "certificate", None), "caveats", ())
    certificate = replace(certificate, caveats=joined((*certificate.caveats, *inside)))
    words = f"best of several runs of {part}, at {float(stopping.price):g} times its loss"
    return Selection(_promising(best[2], certificate, words), best[1], certificate, stopping)


def _check_candidates(candidates: Sequence[object]) -> None:
    array = getattr(candidates, "ndim", 0) > 0
    if not (array or isinstance(candidates, Sequence)) or isinstance(candidates, str | bytes):
        raise ParameterError("candidates", "be a list of what to choose from", shown(candidates))
    if len(candidates) == 0:
        raise ParameterError("candidates", "hold at least one", "none")
    for index, candidate in enumerate(candidates):
        if getattr(candidate, "ledger", None) is not None:
            remedy = (
                "Pass the ledger to private_selection: it charges the whole selection once, and a row "
                "for each run would tell how many there were."
            )
            raise ParameterError(f"candidates[{index}].ledger", "be None", "a ledger", remedy)


def _any_of(count: int) -> int:
    """A uniformly drawn index, exactly: floor(count U) is the integer nearest to count U - 1/2."""
    return draw_rounded(lambda u: [count * u[0] - arb(0.5)], 1)[0]


def _verify(output: Any, part: PureDP, relation: Neighbours, unit: str) -> None:
    for name in ("guarantee", "neighbours", "unit"):
        if not hasattr(output, name):
            raise DpfdaError(f"What fit returns must have the attribute {name!r}; found none.")
    certificate = getattr(output, "certificate", output)
    promised = [output.guarantee, getattr(certificate, "achieved", output.guarantee)]
    if not all(within(guarantee, part) for guarantee in promised):
        raise DpfdaError(
            f"One run must give at most {part}; found {output.guarantee}. Pass the epsilon that fit"
            " receives on to the mechanism, with delta 0."
        )
    if Neighbours.parse(output.neighbours) is not relation or output.unit != unit:
        raise DpfdaError(
            f"One run must protect one {unit} under {relation} neighbours, as the selection does; "
            f"found {output.unit!r} under {output.neighbours}. Set neighbours= and unit= to the runs'."
        )


def _ranked(value: float) -> float:
    """The score as a number that can be compared: NaN is the worst."""
    number = float(value)
    return -math.inf if math.isnan(number) else number


def _entry(relation: Neighbours, unit: str, count: int, stopping: Stopping) -> Mapping[str, object]:
    return {
        "summary": "private selection",
        "neighbours": str(relation),
        "privacy_unit": unit,
        "bound": "that of every run",
        "mechanism": "selection",
        "candidates": count,
        "stopping": f"truncated negative binomial, eta {stopping.eta}, gamma {float(stopping.gamma):g}",
    }


def _promising(output: object, promise: Certificate, words: str) -> Any:
    """A release that promises `promise`, and all releases inside it: no part of the best run is its own.

    A density holds a histogram, a comparison several means, a covariance the mean it was centered at.
    """
    if isinstance(output, Mapping):
        inside = {name: _promising(value, promise, words) for name, value in output.items()}
        return inside if any(inside[name] is not output[name] for name in inside) else output
    if isinstance(output, Certificate):
        # What one run was bounded by and how it was made stays; what it cost does not.
        return replace(promise, bound=output.bound, mechanism=output.mechanism)
    if not is_dataclass(output) or isinstance(output, type):
        return output
    values = {field.name: getattr(output, field.name) for field in fields(output)}
    promised = {name: _promising(value, promise, words) for name, value in values.items()}
    if "about" in values and values.keys() & {"certificate", "guarantee"}:
        promised["about"] = {**values["about"], "selected": words}
        promised |= {"guarantee": promise.guarantee} if "guarantee" in values else {}
    changes = {name: value for name, value in promised.items() if value is not values[name]}
    return replace(output, **changes) if changes else output


@dataclass(frozen=True)
class Stopping:
    """Law of the number K of runs, K >= 1.

    For eta not 0, P(K = k) is proportional to (1-gamma)^k prod_{l<k} (l+eta)/(l+1); for eta = 0 to
    (1-gamma)^k / k. At eta = 1 it is the geometric law gamma (1-gamma)^(k-1).

    Parameters
    ----------
    eta : Fraction
        Shape, above -1. The price of a selection is 2 + eta runs; a smaller eta is cheaper and stops
        after few runs more often.
    gamma : Fraction
        Strictly between 0 and 1; the smaller, the more runs.

    References
    ----------
    Papernot & Steinke (2022), Definition 1; Liu & Talwar (2019) for eta = 1.

    Examples
    --------
    >>> Stopping.with_mean(1, 10).gamma
    Fraction(1, 10)
    """

    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        eta, gamma = exact(self.eta, "eta"), exact(self.gamma, "gamma")
        if not eta > -1:
            raise ParameterError("eta", "exceed -1", readable(eta), "1 is the geometric law.")
        if not 0 < gamma < 1:
            raise ParameterError("gamma", "lie strictly between 0 and 1", readable(gamma))
        object.__setattr__(self, "eta", eta)
        object.__setattr__(self, "gamma", gamma)

    @classmethod
    def with_mean(cls, eta: object, mean: object) -> Stopping:
        """The law of a given expected number of runs.

        Parameters
        ----------
        eta : number
            Shape, above -1.
        mean : number
            Expected number of runs, above 1. Public. Exact for eta = 1, else to floating point; the
            guarantee is the same for every gamma.

        Raises
        ------
        ParameterError
            If either is out of range.
        """
        eta, wanted = exact(eta, "eta"), exact(mean, "expected_runs")
        if not wanted > 1:
            raise ParameterError("expected_runs", "exceed 1", readable(wanted))
        if wanted > MOST_RUNS:
            raise ParameterError("expected_runs", "be at most 1e6", readable(wanted))
        if eta > LARGEST_SHAPE or (eta != 0 and abs(eta) < SMALLEST_SHAPE):
            raise ParameterError(
                "eta", "be 0, or of size 1e-6 to 100", readable(eta), "1 is the geometric law."
            )
        if eta == 1:
            return cls(eta, 1 / wanted)
        cls(eta, Fraction(1, 2))  # refuses eta where no law has it

        def excess(log_gamma: float) -> float:
            return math.log(_mean(float(eta), math.exp(log_gamma)) / float(wanted))

        if excess(math.log(SMALLEST_GAMMA)) < 0:
            raise ParameterError("expected_runs", f"be attainable with eta = {readable(eta)}", f"{mean}")
        ends = math.log(SMALLEST_GAMMA), math.log1p(-1e-9)
        if excess(ends[1]) > 0:
            raise ParameterError("expected_runs", "exceed 1 by more than rounding", f"{mean}")
        return cls(eta, Fraction(math.exp(scipy.optimize.brentq(excess, *ends, xtol=1e-14))))

    @property
    def mean(self) -> float:
        """Expected number of runs."""
        return _mean(float(self.eta), float(self.gamma))

    @property
    def price(self) -> Fraction:
        """Privacy loss of a selection, in units of the loss of one run: 2 + eta."""
        return 2 + self.eta

    def probability(self, runs: int) -> float:
        """P(K = runs) in floating point, for study."""
        if runs < 1:
            return 0.0
        eta, gamma = float(self.eta), float(self.gamma)
        factors = ((1 - gamma) * (k + eta) / (k + 1) for k in range(1, runs))
        return _first(eta, gamma) * math.prod(factors)

    def draw(self, source: BitSource | None = None) -> int:
        """One exact draw from the operating system's entropy; `source` is for tests of this function.

        Inverse of the distribution function, in ball arithmetic: where the leading bits of the uniform
        variable do not determine K, more are appended to it.
        """
        return draw_rounded(self._inverse, 1, source)[0]

    def _inverse(self, uniforms: Sequence[arb]) -> list[arb]:
        uniform, eta, gamma = uniforms[0], enclosed(self.eta), enclosed(self.gamma)
        if self.eta == 0:
            term = (1 - gamma) / -gamma.log()
        else:
            term = (1 - gamma) * eta / ((-eta * gamma.log()).exp() - 1)
        total, runs = term, 1
        while not total > uniform:
            if not total < uniform:
                return [arb("nan")]
            term *= (1 - gamma) * (runs + eta) / (runs + 1)
            total += term
            runs += 1
        return [arb(runs)]


def _first(eta: float, gamma: float) -> float:
    """P(K = 1)."""
    if eta == 0:
        return (1 - gamma) / -math.log(gamma)
    return (1 - gamma) * eta / math.expm1(-eta * math.log(gamma))


def _mean(eta: float, gamma: float) -> float:
    if eta == 0:
        return (1 / gamma - 1) / -math.log(gamma)
    return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))
