"""One release of custodians who may not pool their records: agree, add up under masks, merge.

Three messages: each custodian sends its card; the coordinator signs an agreement on all public
parameters; each custodian sends its masked part. Where some may vanish there is a fourth: the
coordinator calls the roll of those whose parts are there, and enough custodians answer it. See
`docs/custodians.md` for who learns what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpfda.bounds import L2Ball
from dpfda.front import agreed
from dpfda.front.agreed import estimator_of, pooled, statements, words
from dpfda.mean.estimator import PrivateMean
from dpfda.numerics.errors import CustodyError, DataError, ParameterError, StorageError
from dpfda.numerics.parameters import exact, shown
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication.custody import Agreement, Answer, Card, Kept, Keys, Part, Roll
from dpfda.publication.custody.agreements import check_noise, check_weights, fewest
from dpfda.publication.custody.parts import called, check_own, joined, masked
from dpfda.records import LongCurves
from dpfda.releases.base import Release
from dpfda.spine.arguments import Beside, Columns, Labels, Records
from dpfda.spine.estimator import Estimator
from dpfda.spine.pooled import PooledSum

__all__ = [
    "agree", "answer", "estimator_of", "merge", "part", "pooled", "roll", "statements", "words",
]  # fmt: skip


def agree(
    estimator: Estimator,
    custodians: Sequence[Card],
    coordinator: Keys,
    columns: Columns | None = None,
    noise: str = "central",
    colluding: int = 0,
    threshold: int | None = None,
    weights: Mapping[str, object] | None = None,
    visits: Mapping[str, object] | None = None,
) -> Agreement:
    """Write and sign what custodians agree on: every public parameter, their keys, and a new session.

    Parameters
    ----------
    estimator : Estimator
        What is to be released, one of `dpfda.front.agreed.SUMMARIES`; curves seen at a few times with
        missing="pooled". Under replace-one neighbours the number of units is that of the cards.
    custodians : sequence of Card
        With the number of units, under replace-one neighbours.
    coordinator : Keys
        Signs, and will open the parts.
    columns : int or array (m,), optional
        Grid of curves, where the estimator's domain has none: number of points, or the points.
    noise : {"central", "shared"}
        Drawn by the coordinator; or, for all but tests, a share by every custodian before it masks its
        sum: the coordinator never sees a total without noise. Where "auto" would draw noise that has no
        shares, a law that has some is agreed on, without a delta if it needs none.
    colluding : int
        Of shared noise, or where custodians may vanish: how many custodians may tell the coordinator all
        they know. The shares of the others, `Agreement.honest` of them, have the guarantee alone; the
        release has the noise of all that are in it.
    threshold : int, optional
        How many custodians must be there to the end: more than half of all and the colluding. Who
        vanishes is left out of the sum, and the others answer a roll (`roll`, `answer`). By default all
        must be there, and none is asked again.
    weights : mapping of str to number, optional
        Of shared noise and public numbers of units: by the names of custodians whose units lose less
        than the others', shares below 1 of the epsilon, or of the root of rho. Their sums count for so
        much less: the release is that of units which have these weights (`statements`).
    visits : mapping of str to number, optional
        With shared noise: how often a unit is seen, by the names of custodians where that is seldom ({}
        if nowhere). Units then have the weights of least variance by sampling and noise, as public
        numbers state it, of which none is above its share in `weights`.

    Raises
    ------
    RefusedMechanismError
        If noise is shared and the mechanism has no law that can be drawn in shares.
    ParameterError
        If a public parameter is unusable, cannot be written to a file, or the number of units is
        missing, or given where it is private.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> from dpfda.publication.custody import Keys
    >>> clinics = [Keys.make("north", units=3), Keys.make("south", units=2)]
    >>> registry = Keys.make("registry")
    >>> mean = PrivateMean(1.0, bounds=(0, 1))
    >>> agreement = agree(mean, [keys.card for keys in clinics], registry, columns=12)
    >>> parts = [part(agreement, keys, np.zeros((keys.card.units, 12))) for keys in clinics]
    >>> merge(agreement, parts, registry).count
    5.0
    """
    names = [name for name, kind in agreed.SUMMARIES.items() if type(estimator) is kind]
    if not names:
        words = f"be one of {', '.join(kind.__name__ for kind in agreed.SUMMARIES.values())}"
        raise ParameterError("estimator", words, shown(estimator))
    size = agreed.public_size(estimator, custodians)
    shares = {str(name): exact(weight, "weights") for name, weight in (weights or {}).items()}
    check_weights(shares, [card.name for card in custodians], noise)
    agreed.check_weighed(size, shares if visits is None else {**shares, "": Fraction(1)})
    if visits is not None and noise != "shared":
        raise ParameterError("visits", "be left out where the coordinator draws the noise", noise)
    check_noise(noise, colluding, count := len(custodians), threshold)
    honest = fewest(count - colluding, (threshold or count) - colluding)
    planned = agreed.planned_size(size, custodians, shares)
    pool, law = pooled(estimator, planned, columns), None
    if noise == "shared":
        estimator, pool, law = agreed.in_shares(estimator, honest, planned, columns)
    if visits is not None:
        estimator, shares = agreed.by_variance(estimator, custodians, shares, visits, pool)
        planned = agreed.planned_size(size, custodians, shares)
        estimator, pool, law = agreed.in_shares(estimator, honest, planned, columns)
    if pool.thresholds:
        raise ParameterError(
            "mechanism", "have no thresholds, which need the exact total", shown(estimator.mechanism)
        )
    parameters = agreed.written_parameters(estimator)
    basis = pool.stated_basis
    if pool.stated_grid is not None:
        grid, ends = pool.stated_grid
        parameters |= {"grid_points": grid.tolist(), "domain_range": [*ends]}
    if basis is not None:
        # The functions themselves, so that no machine's linear algebra makes others.
        parameters["basis"] = {"basis": basis.to_json()}
        _check_readable(parameters["basis"])
        if isinstance(getattr(estimator, "bounds", None), L2Ball):
            # Those of a ball have the known cycles.
            parameters.pop("periods", None)
    for weight in shares.values():
        pool.sharing.moved(weight)
    terms = agreed.signed_terms(pool, law, size)
    terms |= {"noise": noise, "colluding": colluding, "threshold": threshold, "weights": shares}
    summary = {"name": names[0], "parameters": parameters}
    return Agreement(custodians, coordinator.card, summary, **terms).signed(coordinator)


def part(
    agreement: Agreement,
    keys: Keys,
    X: Records,
    groups: Labels = None,
    y: Beside = None,
    ledger: object = None,
) -> Part:
    """Add up one custodian's units and mask the sum. The keys are used up.

    Compare the agreement's fingerprint with all other custodians first, by a channel that the
    coordinator does not control: it holds their keys, the bound and the budget.

    Parameters
    ----------
    agreement : Agreement
        As it was loaded.
    keys : Keys
        This custodian's.
    X, groups, y
        As in the estimator's `fit`: a unit's records must all be here, and in no other custodian's data.
        Private.
    ledger : ledger.of(dataset), optional
        This custodian's own, of shared noise: charged before its share is drawn.

    Raises
    ------
    BudgetError
        If the ledger refuses; no noise was drawn, and the keys remain.
    CustodyError
        If the agreement is not what it says: other keys, other numbers, room for totals to wrap.
    DataError
        If the data cannot be used, or hold another number of units than was agreed.
    """
    pool = agreed.agreed_sum(agreement)
    card = agreement.card(keys.card.name)
    name = agreement.summary["parameters"].get("name")
    if (groups is not None or isinstance(X, LongCurves)) and name is None:
        raise ParameterError("groups", "be left out where the agreement names no unit", "groups")
    total = pool.total(X, groups, y)
    if card.units is not None and (count := total.count_with_noise(0, 1)) != card.units:
        alone = groups is None and name is not None
        rows = f" Each row counts as one {name}, unless groups says whose it is." if alone else ""
        raise DataError(
            f"X must hold the {card.units} units that were agreed; found {count}.{rows} Their number "
            "is public: make new keys with it, for another agreement."
        )
    if agreement.is_shared:
        check_own(agreement, keys)
        sharing = pool.sharing
        law, paying = sharing.law(agreement.honest), read_ledger(ledger)
        weight = agreement.weight(card.name) if agreement.weights else None
        total = sharing.with_share(pool.measured(total), law, paying, weight)
    elif ledger is not None:
        raise ParameterError("ledger", "be the coordinator's, who draws the noise", "one of a part")
    return masked(agreement, keys, total)


def roll(agreement: Agreement, parts: Iterable[Part], coordinator: Keys) -> Roll:
    """Call the roll: the signed list of those whose parts are there. Its keys are kept.

    Wait for whoever may still come: a custodian answers one roll, and a part that comes later is out.

    Parameters
    ----------
    agreement : Agreement
        From which custodians may vanish.
    parts : iterable of Part
        At least as many as the threshold.
    coordinator : Keys
        Those that signed the agreement.

    Raises
    ------
    CustodyError
        If they are too few, or do not fit together.
    """
    return called(agreement, coordinator, parts)


def answer(agreement: Agreement, keys: Kept | Keys, roll: Roll) -> Answer:
    """Help to open the sum of those on the roll, and of nobody else. No records are needed.

    Any custodian whose part was made can answer, on the roll or not.

    Parameters
    ----------
    agreement : Agreement
        Under which the part was made.
    keys : Kept or Keys
        What this custodian's file of keys holds since then, as `Kept.load` reads it; or the keys
        themselves in the same process.
    roll : Roll
        The coordinator's.

    Raises
    ------
    CustodyError
        If another roll was answered, it is not of this agreement, or names too few.
    """
    secret = Kept.of(keys) if isinstance(keys, Keys) else keys
    return secret.answer(agreement, roll)


def merge(
    agreement: Agreement,
    parts: Iterable[Part],
    coordinator: Keys,
    ledger: object = None,
    answers: Iterable[Answer] = (),
) -> Release:
    """Open the total of all parts, charge, draw the noise and release. The keys are used up.

    Parameters
    ----------
    agreement : Agreement
    parts : iterable of Part
        One of each custodian; the same part twice counts once.
    coordinator : Keys
        Those that signed the agreement.
    ledger : ledger.of(dataset), optional
        As in the estimators: charged before the noise is drawn.
    answers : iterable of Answer
        Of at least the threshold, where custodians may vanish: to the roll of these parts.

    Returns
    -------
    Release
        As one fit on all records, or on those of the custodians on the roll, would have released: the
        integers before the noise are the same.

    Raises
    ------
    CustodyError
        If a part is missing, or the parts do not fit together. Nothing was charged.
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    pool, parts = agreed.agreed_sum(agreement), list(parts)
    total = joined(agreement, coordinator, parts, answers)
    present = {part.custodian for part in parts}
    sizes = [card.units for card in agreement.custodians if card.name in present]
    units = None if None in sizes else sum(size or 0 for size in sizes)
    if units is not None and total.count_with_noise(0, 1) != units:
        raise CustodyError(
            "The parts must add up to the number of units that was agreed; they do not. At least one "
            "was not made as agreed: start again with new keys."
        )
    if agreement.is_shared:
        law = replace(pool.sharing.law(agreement.honest), drawn=len(present))
        divisor = _weighed(agreement, pool, present) if agreement.weights else units
        release: Release = pool.publish_shared(total, law, divisor, ledger)
    else:
        release = pool.publish(total, ledger)
    # Before anybody has it: a second opening of these parts would be a second release.
    coordinator.use_up(f"the total under the agreement {agreement.digest.hex()}")
    return release


def _check_readable(written: object) -> None:
    try:
        agreed.estimator_from(PrivateMean, {"basis": written})
    except StorageError:
        words = "be a kernel that a file can hold, such as 'matern:10%:1.5'"
        raise ParameterError("basis", words, "a function of your own") from None


def _weighed(agreement: Agreement, pool: PooledSum, present: Iterable[str]) -> Fraction:
    """What the sum of those present is divided by: units, each by the factor of its custodian."""
    cards, moved = map(agreement.card, present), pool.sharing.moved
    return sum((moved(agreement.weight(c.name))[0] * (c.units or 0) for c in cards), Fraction(0))
