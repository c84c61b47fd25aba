"""What an agreement of custodians says: its summary, checked against what was signed, and its words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, TypeVar

import numpy as np

from dpfda.bases.reading import basis_from_json
from dpfda.bounds.stated import STATED, bound_from_json
from dpfda.covariance.estimator import PrivateCovariance
from dpfda.covariance.fpca import PrivateFPCA
from dpfda.density.estimator import PrivateDensity
from dpfda.effects.estimator import PrivateFunctionalRegression
from dpfda.mean.comparison.equality_test import PrivateEqualityTest
from dpfda.mean.comparison.estimator import PrivateComparison
from dpfda.mean.estimator import PrivateMean
from dpfda.mean.vector.estimator import PrivateVectorMean
from dpfda.numerics.errors import CustodyError, ParameterError, RefusedMechanismError
from dpfda.numerics.parameters import exact, shown
from dpfda.numerics.words import visible
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication.custody import Agreement, Card
from dpfda.publication.custody.agreements import MOST_UNITS
from dpfda.publication.shares import SharedLaw
from dpfda.releases.files import DAMAGE
from dpfda.spine.arguments import Columns
from dpfda.spine.choices import is_basis
from dpfda.spine.estimator import Estimator
from dpfda.spine.pooled import PooledSum, one_sum
from dpfda.spine.settings import Gathered
from dpfda.survival.estimator import PrivateSurvival

Made = TypeVar("Made", bound=Estimator)
# A sum of custodians or of machines is charged where it is published.
_LEFT_OUT = ("ledger",)
_PRIVACY, _OTHERS = ("epsilon", "delta", "rho"), str | Decimal | np.generic


def written_parameters(estimator: Estimator) -> dict[str, object]:
    """Parameters that are not the defaults, and fields of those that are objects, by their own names.

    Raises
    ------
    ParameterError
        If one is an object that JSON cannot hold, such as a function of the user's own.

    Examples
    --------
    >>> from dpfda import PrivateMean
    >>> written_parameters(PrivateMean(1, bounds=(0, 2), unit="person", missing="complete"))
    {'bounds': [0, 2], 'epsilon': 1, 'missing': 'complete', 'name': 'person'}
    """
    defaults = type(estimator)().get_params(deep=False)
    stated: dict[str, object] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _LEFT_OUT or value is None:
            continue
        if isinstance(value, Gathered) and name in estimator._gathered:
            plain = type(value)()
            fields = value.get_params().items()
            stated |= {field: part for field, part in fields if not _same(part, getattr(plain, field))}
        elif name in estimator._gathered and (field := estimator._gathered[name][0].shorthand):
            stated[field] = value
        elif not _same(value, defaults[name]):
            stated[name] = value
    # What is agreed on is the number that is read, however it was written.
    numbers = [name for name in _PRIVACY if isinstance(stated.get(name), _OTHERS)]
    stated |= {name: exact(stated[name], name) for name in numbers}
    return {name: _written(value, name) for name, value in sorted(stated.items())}


def estimator_from(kind: type[Made], written: Mapping[str, object]) -> Made:
    """The estimator whose parameters `written_parameters` wrote."""
    return kind(**{name: _read(value) for name, value in written.items()})


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is other
    return one is other or bool(one == other)


def _written(value: Any, name: str) -> object:
    content: object = value
    if isinstance(value, Fraction):
        content = {"fraction": f"{value.numerator}/{value.denominator}"}
    elif isinstance(value, np.ndarray | np.generic):
        content = value.tolist()
    elif isinstance(value, list | tuple):
        content = [_written(entry, name) for entry in value]
    elif isinstance(value, Mapping):
        content = {"mapping": {str(key): _written(entry, name) for key, entry in value.items()}}
    elif type(value) in STATED.values():
        content = {"bound": value.to_json()}
    elif is_basis(value):
        content = {"basis": value.to_json()}
    elif not isinstance(value, bool | int | float | str):
        raise ParameterError(name, "be something that a file can hold", shown(value))
    return content


def _read(value: object) -> object:
    if isinstance(value, list):
        return [_read(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "fraction":
        return Fraction(inner)
    if kind == "mapping":
        return {key: _read(entry) for key, entry in inner.items()}
    if kind == "bound":
        return bound_from_json(inner)
    return basis_from_json(inner)


SUMMARIES: dict[str, type[Estimator]] = {
    "mean": PrivateMean,
    "density": PrivateDensity,
    "covariance": PrivateCovariance,
    "comparison": PrivateComparison,
    "survival": PrivateSurvival,
    "components": PrivateFPCA,
    "test": PrivateEqualityTest,
    "vector": PrivateVectorMean,
    "effects": PrivateFunctionalRegression,
}
# A released count is counted in units of at most this.
COUNTED = 2**40
# In the place of noise that has no shares: no delta, where "auto" took a pure law; else other noise.
DIVISIBLE: tuple[dict[str, object], ...] = (
    {"delta": 0.0}, {"mechanism": "gaussian"}, {"delta": 0.0, "mechanism": "knorm"}
)  # fmt: skip
# Weights are rounded to millionths.
GRID = 10**6
# Of the largest variance that a unit can have within its bounds, what units of real curves have.
SPREAD = Fraction(1, 50)
SHOWN = 60
LOSSES = 30


def pooled(estimator: Estimator, n: int, columns: Columns | None = None) -> PooledSum:
    """How an estimator's summary is pooled, from public numbers alone.

    Parameters
    ----------
    estimator : Estimator
        One of `SUMMARIES`.
    n : int
        Number of units of all holders; where that is private, a number to expect.
    columns : int or array (m,), optional
        As in `PrivateMean.plan`.

    Raises
    ------
    ParameterError
        If the summary is no sum, or a public parameter is unusable.
    """
    more = {} if columns is None else {"columns": columns}
    return one_sum(estimator, "pooled").pooled(n, **more)


def in_shares(
    estimator: Estimator, honest: int, n: int, columns: Columns | None
) -> tuple[Estimator, PooledSum, SharedLaw]:
    """What is agreed on where noise is shared: the estimator, its sum and the law of the shares.

    Where "auto" takes a law that has no shares, the nearest that has some.
    Raises RefusedMechanismError if there is none.
    """
    parameters = estimator.get_params(deep=False)
    others = DIVISIBLE if parameters.get("mechanism", parameters.get("noise")) == "auto" else ()
    refused: list[RefusedMechanismError] = []
    for other in ({}, *others):
        tried = type(estimator)(**{**parameters, **other}) if {*other} <= {*parameters} else estimator
        try:
            pool = pooled(tried, n, columns)
            return tried, pool, pool.sharing.law(honest)
        except RefusedMechanismError as error:
            refused.append(error)
    raise refused[0]


def estimator_of(agreement: Agreement) -> Estimator:
    """The estimator that custodians agreed on, with all of its public parameters.

    Raises
    ------
    CustodyError
        If the summary is none that is known here.
    """
    try:
        kind = SUMMARIES[str(agreement.summary["name"])]
        parameters = agreement.summary["parameters"]
        if not isinstance(parameters, Mapping):
            raise TypeError
        estimator: Estimator = estimator_from(kind, parameters)
    except ParameterError as error:
        raise CustodyError(f"The agreement's parameters cannot be used: {error}") from None
    except DAMAGE:
        raise CustodyError("The agreement's parameters cannot be read; update dpfda?") from None
    return estimator


def words(agreement: Agreement) -> str:
    """The agreement in words, for the people who compare it."""
    pool, estimator = agreed_sum(agreement), estimator_of(agreement)
    parameters = {
        name: _short(value)
        for name, value in agreement.summary["parameters"].items()
        if name not in ("basis", *_PRIVACY)
    }
    seen = "who draws the noise and can see the exact sum"
    if agreement.is_shared:
        seen = "who draws no noise and sees the total with the noise of all"
    people = ", ".join(
        card.name + ("" if card.units is None else f" ({card.units})") for card in agreement.custodians
    )
    return "\n".join(
        [
            f"agreement:    {agreement.summary['name']} of {people}",
            f"coordinator:  {agreement.coordinator.name}, {seen}",
            *_may_vanish(agreement),
            # The guarantee is shown as it was read, not as it was written.
            f"guarantee:    {estimator.asked()}",
            *_losses(agreement, pool),
            f"bound:        {pool.describe()}",
            f"parameters:   {', '.join(' '.join(pair) for pair in parameters.items())}",
            f"sum:          {agreement.numbers} integers and a count, modulo 2^{agreement.bits}",
            f"session:      {agreement.session}",
            f"fingerprint:  {agreement.fingerprint}",
        ]
    )


def statements(agreement: Agreement, custodian: str | None = None) -> dict[int, Guarantee]:
    """What shared noise gives, by how many custodians tell the coordinator all they know; 0 for readers.

    Parameters
    ----------
    agreement : Agreement
    custodian : str, optional
        Whose units it is given to; by default those of weight 1, whom it gives least.

    Raises
    ------
    CustodyError
        If noise is not shared, the agreement cannot be used, or names no such custodian.
    """
    if not agreement.is_shared:
        raise CustodyError("The noise of the agreement must be shared; the coordinator draws it.")
    weight = Fraction(1) if custodian is None else agreement.weight(agreement.card(custodian).name)
    return _stated(agreement, agreed_sum(agreement), weight)


def _stated(agreement: Agreement, pool: PooledSum, weight: Fraction) -> dict[int, Guarantee]:
    sharing, losses = pool.sharing, {}
    law = sharing.law(agreement.honest)
    for colluding in range(len(agreement.custodians)):
        shares = agreement.left(colluding)
        with suppress(RefusedMechanismError):
            if shares:
                losses[colluding] = sharing.lost(law, shares, weight)
    return losses


def _losses(agreement: Agreement, pool: PooledSum) -> list[str]:
    if not agreement.is_shared:
        return []
    count = len(agreement.custodians)
    to = [
        "to readers",
        *(f"to {agreement.coordinator.name} with {c} of {count}" for c in range(1, count)),
    ]
    lines = [f"noise:        in shares; those of {agreement.honest} of {count} keep the guarantee"]
    for name, weight in [("", Fraction(1)), *sorted(agreement.weights.items())]:
        losses = _stated(agreement, pool, weight)
        lines += [f"weight {weight}:   what units of {name} lose"] if name else []
        lines += [
            f"  {who + ':':<{LOSSES}} {losses.get(c, 'nothing is stated')}" for c, who in enumerate(to)
        ]
    return lines


def _may_vanish(agreement: Agreement) -> list[str]:
    if not agreement.may_vanish:
        return []
    count, least = len(agreement.custodians), agreement.answers
    return [
        f"vanishing:    the sum opens if {least} of {count} answer the roll; without who is not on it",
        f"              with {agreement.colluding} colluding no sum of fewer than {agreement.honest} "
        "others can be opened",
    ]


def _short(value: object) -> str:
    if isinstance(value, dict):
        ((_, value),) = value.items()
    if isinstance(value, dict) and "kind" in value:
        value = bound_from_json(value).describe()
    text = visible(str(value).removesuffix("/1"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.."


def agreed_sum(agreement: Agreement) -> PooledSum:
    """How the agreed summary is added up, checked against what was signed."""
    estimator = estimator_of(agreement)
    size = public_size(estimator, agreement.custodians)
    pool = pooled(estimator, planned_size(size, agreement.custodians, agreement.weights))
    check_weighed(size, agreement.weights)
    law = pool.sharing.law(agreement.honest) if agreement.is_shared else None
    terms = signed_terms(pool, law, size)
    if any(getattr(agreement, name) != term for name, term in terms.items()):
        raise CustodyError(
            "The agreement must make the same integers of a record here as where it was signed, and "
            "shares of the same law; it does not. Use the same version of dpfda everywhere."
        )
    return pool


def signed_terms(pool: PooledSum, law: SharedLaw | None, size: int | None) -> dict[str, Any]:
    """What is signed of a sum: its rule, how many numbers it has and how large one can be.

    The rule is a hash of the sum's, and of which law shares have: it may be chosen ("auto") where they
    are drawn. Scales are left out, whose last digits may hang on a machine's linear algebra.
    """
    rule, numbers = pool.digest, pool.numbers
    if law is not None:
        kind, numbers = f"{law.law} {getattr(law, 'block_sizes', ())}", pool.sharing.numbers(law)
        rule = hashlib.sha256(f"{rule} {kind}".encode()).hexdigest()
    units = MOST_UNITS if size is None else size
    return {"rule": rule, "numbers": numbers, "largest": units * max(pool.largest, COUNTED)}


def check_weighed(size: int | None, weights: Mapping[str, Fraction]) -> None:
    """Refuse weights of a private number of units. Raises ParameterError."""
    if weights and size is None:
        words = (
            "be left out where the number of units is private: their weights would be released with it"
        )
        raise ParameterError("weights", words, "add/remove neighbours")


def by_variance(
    estimator: Estimator,
    cards: Sequence[Card],
    budgets: Mapping[str, Fraction],
    visits: Mapping[str, object],
    pool: PooledSum,
) -> tuple[Estimator, dict[str, Fraction]]:
    """Weights of the least stated variance, and the estimator with the largest loss that any unit has.

    With units n_s, of which one has the variance v_s = 1 + L / m_s for L numbers that get noise and m_s
    visits, and V that of the noise, (sum_s f_s^2 n_s v_s + V) / (sum_s f_s n_s)^2 is least at f_s =
    min(w_s, c / v_s), where w_s are the budgets and c (sum_s f_s n_s) = sum_s f_s^2 n_s v_s + V.

    Raises ParameterError if visits are no positive numbers of custodians that are there.
    """
    names = {card.name for card in cards}
    for name, count in visits.items():
        if name not in names or exact(count, "visits") <= 0:
            raise ParameterError("visits", f"be positive numbers of {', '.join(names)}", f"{name}")
    sharing, size = pool.sharing, Fraction(pool.sharing.noise.components)
    noise = Fraction(sharing.relative_variance) / SPREAD
    units = {card.name: Fraction(card.units or 0) for card in cards}
    spread = {k: 1 + size / exact(visits[k], "visits") if k in visits else Fraction(1) for k in units}
    most = {name: budgets.get(name, Fraction(1)) for name in units}
    inside, total, level = noise, Fraction(0), Fraction(0)
    for name in sorted(units, key=lambda custodian: most[custodian] * spread[custodian]):
        if total and level <= most[name] * spread[name]:
            break
        inside += most[name] ** 2 * units[name] * spread[name]
        total += most[name] * units[name]
        level = inside / total
    best: dict[str, Fraction] = {k: min(most[k], level / spread[k]) for k in units}
    # Down, so that no unit loses more than its budget.
    top = Fraction(floor(max(best.values()) * GRID), GRID)
    weights = {name: Fraction(floor(min(f / top, Fraction(1)) * GRID), GRID) for name, f in best.items()}
    parameters = estimator.get_params(deep=False)
    name, power = ("rho", 2) if parameters.get("rho") is not None else ("epsilon", 1)
    less = {**parameters, name: exact(parameters[name], name) * top**power}
    return type(estimator)(**less), {name: w for name, w in weights.items() if w < 1}


def planned_size(size: int | None, custodians: Sequence[Card], weights: Mapping[str, Fraction]) -> int:
    """The number of units that the noise is designed for."""
    less = sum((1 - weights.get(card.name, 1)) * (card.units or 0) for card in custodians)
    return 2 if size is None else max(2, floor(size - less))


def public_size(estimator: Estimator, custodians: Sequence[Card]) -> int | None:
    """The public number of all units; None where it is private."""
    private = estimator.settings.unit.private
    wrong = [card.name for card in custodians if (card.units is None) is not private]
    if wrong:
        words = "have no number of units under add/remove neighbours, where it is private"
        words = words if private else "have its number of units, which is public under replace-one"
        remedy = f"Make their keys anew, {'without' if private else 'with'} the number."
        raise ParameterError("The card of a custodian", words, ", ".join(wrong), remedy)
    return None if private else sum(card.units or 0 for card in custodians)
