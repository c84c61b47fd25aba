"""The contract of a summary, to be run by whoever adds one."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from dpfda.noise import NoiseLaw, VectorLaw
from dpfda.numerics import exactness
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import BudgetError, ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.releases.base import Release
from dpfda.spine.estimator import Estimator

DATASET = "data"
# Rows that bounds must hold, in units of the largest value that is given.
FAR = 1e6


def check_summary(estimator: Estimator, X: ArrayLike, *others: object, sums: bool = True) -> None:
    """Check a summary: its parameters, what it charges and when, and how far a row moves it.

    Parameters
    ----------
    estimator : Estimator
        Not fitted and without a ledger. Every row of X is a privacy unit.
    X : array (n, ..)
        Records, as `fit` takes them; at least three.
    *others
        What else `fit` takes, y mostly; it stays the same when a row of X is replaced.
    sums : bool
        Whether what gets noise is a sum over rows. Then the step from one row to another must be the
        same integers whatever the other rows are.

    Notes
    -----
    The neighbours are an attack: rows far outside all bounds, constant or of changing sign, against each
    other. Where the release has one stage and its law is drawn once, what that gives for the difference
    of the sums must be within the guarantee. That a summary passes is no proof of its sensitivity.

    Raises
    ------
    AssertionError
        If the summary breaks the contract.

    Examples
    --------
    >>> from dpfda import PrivateMean
    >>> from dpfda.testing import check_summary
    >>> check_summary(PrivateMean(1.0, bounds=(0, 1)), np.random.default_rng(1).uniform(size=(20, 9)))
    """
    if not isinstance(estimator, Estimator) or estimator.ledger is not None:
        raise ParameterError("estimator", "be a summary without a ledger", shown(estimator))
    rows = np.array(X, dtype=float)
    _check_parameters(estimator)
    _check_charge(estimator, rows, others)
    _check_refusal(estimator, rows, others)
    _check_embedding(estimator, rows)
    _check_rows(estimator, rows, others, sums)
    _check_roads(estimator, rows, others)


def _check_parameters(estimator: Estimator) -> None:
    from sklearn.exceptions import NotFittedError

    copy = clone(estimator)
    assert repr(copy.get_params()) == repr(estimator.get_params()), "a clone has other parameters"
    assert copy.asked() == estimator.asked(), "a clone asks for another guarantee"
    try:
        _ = copy.release_
    except NotFittedError:
        return
    raise AssertionError("it has a release before it is fitted")


def _ledgered(estimator: Estimator, part: int = 1) -> tuple[Estimator, MemoryLedger]:
    """A clone that charges a ledger of its own, whose budget is what is asked, or a part of it."""
    guarantee, unit = estimator.asked(), estimator.settings.unit
    budget = type(guarantee)(*(getattr(guarantee, term) / part for term in guarantee.terms))
    ledger = MemoryLedger()
    ledger.create(DATASET, budget, neighbours=unit.neighbours, unit=unit.name or "record")
    copy: Estimator = clone(estimator)
    return copy.set_params(ledger=ledger.of(DATASET)), ledger


def _charges(ledger: MemoryLedger) -> list[object]:
    rows = [record for record in ledger.history(DATASET) if record.action == "charge"]
    return [(record.details or {}).get("release") for record in rows]


def _check_charge(estimator: Estimator, rows: Floats, others: Sequence[object]) -> None:
    summary, ledger = _ledgered(estimator)
    fresh = exactness.system_bytes

    def late(size: int) -> bytes:
        assert _charges(ledger), "noise is drawn before the ledger is charged"
        return fresh(size)

    with mock.patch.object(exactness, "system_bytes", late):
        release = summary.fit(rows, *others).release_
    assert isinstance(release, Release), "release_ is no release"
    assert within(release.guarantee, estimator.asked()), "more is promised away than was asked for"
    assert within(compose([release]), release.guarantee), "it composes to more than it claims"
    assert set(_charges(ledger)) == {release.certificate.identity}, "the ledger has another release"
    spent, cost = ledger.history(DATASET)[-1].spent, compose([release])
    exact = dict(zip(spent.terms, spent.values, strict=True))
    assert all(getattr(cost, term) <= exact[term] for term in cost.terms), "not every cost was charged"


def _check_refusal(estimator: Estimator, rows: Floats, others: Sequence[object]) -> None:
    summary, ledger = _ledgered(estimator, part=2)
    never = mock.Mock(side_effect=AssertionError("noise is drawn though the ledger refuses"))
    with mock.patch.object(exactness, "system_bytes", never):
        try:
            summary.fit(rows, *others)
        except BudgetError:
            assert not hasattr(summary, "release_"), "it has a release that the ledger refused"
            assert not _charges(ledger), "a refused release was charged"
            return
    raise AssertionError("twice the budget is published")


@contextmanager
def _listening() -> Iterator[list[tuple[int, ...]]]:
    """The exact totals of all sums that get noise meanwhile.

    Counts are released as they are: which numbers are added up may follow from a noisy count. What is
    told of sums and a line that was released is none of them: it follows from the line's noise.
    """
    heard: list[tuple[int, ...]] = []
    exact, counted = IntegerSum.with_noise, IntegerSum.count_with_noise

    def with_noise(
        total: IntegerSum, noise: Sequence[int], thresholds: Sequence[int] = ()
    ) -> tuple[int, ...]:
        heard.append(exact(total, [0] * len(noise)))
        return exact(total, noise, thresholds)

    def count_with_noise(total: IntegerSum, _: int, scale: int) -> int:
        return counted(total, 0, scale)

    def one_number(*_: object, **__: object) -> IntegerSum:
        return IntegerSum.of([0])

    with (
        mock.patch.multiple(IntegerSum, with_noise=with_noise, count_with_noise=count_with_noise),
        mock.patch.object(IntegerSum, "one_number", one_number),
    ):
        yield heard


def _totals(
    estimator: Estimator, rows: Floats, others: Sequence[object]
) -> tuple[list[tuple[int, ...]], Release]:
    with _listening() as heard:
        release: Release = clone(estimator).fit(rows, *others).release_
    return heard, release


def _check_rows(estimator: Estimator, rows: Floats, others: Sequence[object], sums: bool) -> None:
    far = FAR * max(1.0, float(np.max(np.abs(rows))))
    signs = np.where(np.arange(rows[0].size).reshape(rows[0].shape) % 2 == 0, far, -far)
    heights = [np.full_like(rows[0], far), np.full_like(rows[0], -far), signs, -signs]
    for first, second in ((heights[0], heights[1]), (heights[2], heights[3]), (heights[0], rows[0])):
        steps = []
        for rest in (rows[1:], rows[1:][::-1] / 2):
            both = [_totals(estimator, np.stack([row, *rest]), others) for row in (first, second)]
            if any(len(heard) != 1 or len(release.certificate.stages) != 1 for heard, release in both):
                return
            totals = [np.array(heard[0], dtype=object) for heard, _ in both]
            steps.append((totals[0] - totals[1]).tolist())
            _check_step(both[0][1], steps[-1])
        assert not sums or steps[0] == steps[1], "what a row adds depends on the other rows"


def _check_step(release: Release, step: list[int]) -> None:
    noise: NoiseLaw | None = getattr(release, "noise", None)
    if not isinstance(noise, VectorLaw) or noise.components != len(step):
        return
    achieved = noise.achieved("box", tuple(map(abs, step)), release.guarantee)
    assert within(achieved, release.guarantee), "a row moves the sum further than the noise allows"


def _check_embedding(estimator: Estimator, rows: Floats) -> None:
    """Row i of what is embedded is of row i alone, however many others there are."""
    if rows.ndim != 2:
        return
    with np.errstate(all="ignore"):
        together = np.asarray(estimator.embed(rows.copy()), dtype=float)
        alone = [np.asarray(estimator.embed(row[None].copy()), dtype=float)[0] for row in rows]
        turned = np.asarray(estimator.embed(rows[::-1].copy()), dtype=float)[::-1]
    same = all(np.array_equal(together, other, equal_nan=True) for other in (alone, turned))
    assert same, "what embed makes of a row depends on the other rows"


def _check_roads(estimator: Estimator, rows: Floats, others: Sequence[object]) -> None:
    """All roads to one sum give the same integers, or are refused."""
    if others or rows.ndim != 2 or not hasattr(estimator, "partial_fit"):
        return
    totals = _totals(estimator, rows, others)[0]
    for road in (_in_blocks, _of_holders, _on_dask):
        try:
            heard = road(estimator, rows)
        except ParameterError:
            continue
        assert heard in (None, totals), f"{road.__name__[1:]} leads to another sum than fit"


def _in_blocks(estimator: Estimator, rows: Floats) -> list[tuple[int, ...]]:
    with _listening() as heard:
        clone(estimator).fit_blocks(iter([rows[:2], rows[2:]]))
    return heard


def _of_holders(estimator: Estimator, rows: Floats) -> list[tuple[int, ...]]:
    pool = clone(estimator).pooled(len(rows), rows.shape[1])
    total = pool.total(rows[:1]).merge(pool.total(rows[1:]))
    with _listening() as heard:
        pool.publish(total)
    return heard


def _on_dask(estimator: Estimator, rows: Floats) -> list[tuple[int, ...]] | None:
    if find_spec("dask") is None:
        return None
    arrays = importlib.import_module("dask.array")
    with _listening() as heard:
        clone(estimator).fit(arrays.from_array(rows, chunks=(2, rows.shape[1])))
    return heard
