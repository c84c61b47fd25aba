"""A release that is only tried: what would be published, of whom and at what price. Nothing private."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from dpfda.command.running import print_json, say

if TYPE_CHECKING:
    from dpfda.command.accounts import Account
    from dpfda.command.reading import Summary
    from dpfda.privacy.certificates import Certificate
    from dpfda.privacy.composition import Cost

Charge = tuple[Sequence["Cost"], Mapping[str, object]]
# Charges of the releases that a study makes before, by ledger and data set.
BEFORE: ContextVar[dict[tuple[str, str], list[Charge]] | None] = ContextVar("charges", default=None)
# Whether a dry run only checks.
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
# So many names of columns are said.
SHOWN = 6


@contextmanager
def quietly(quiet: bool = True) -> Iterator[None]:
    """Within it a dry run checks and says nothing."""
    before = QUIET.set(quiet)
    try:
        yield
    finally:
        QUIET.reset(before)


def tell_dry_run(facts: Mapping[str, str], as_json: bool, warnings: Sequence[str]) -> None:
    """Say what a verb would do."""
    if QUIET.get():
        return
    if as_json:
        print_json({"dry_run": True, **facts, "warnings": [*warnings]})
        return
    lines = [f"  {name + ':':<11} {fact}" for name, fact in facts.items() if fact]
    say("\n".join(["Dry run: nothing is charged, drawn or written. It would do this:", *lines]))


def listed(names: Sequence[str]) -> Sequence[str]:
    """Names of columns, of which the first and the last are said where they are many."""
    return names if len(names) <= SHOWN else [*names[:2], "..", f"{names[-1]} ({len(names)})"]


def foreseen_charge(
    estimator: Summary, planned: Certificate | None, account: Account | None, unit: str, paid: str
) -> dict[str, str]:
    """What would be charged, and what would be left; refused where the budget does not allow it.

    paid: Why nothing would be charged.
    """
    from dpfda.privacy.composition import Cost

    if paid:
        return {"charge": f"nothing: {paid}"}
    if account is None:
        return {"charge": "no ledger is named: keep an account of all releases (--ledger, --dataset)"}
    costs = planned.costs if planned is not None else (Cost(estimator.asked()),)
    relation = str(estimator.settings.unit.relation)
    charges: list[Charge] = [(costs, {"neighbours": relation, "privacy_unit": unit})]
    before, key = BEFORE.get(), (str(account.ledger.path), account.dataset)
    if before is not None:
        charges = [*before.get(key, []), *charges]
    left = account.ledger.foreseen(account.dataset, charges)
    if before is not None:
        before[key] = charges
    now = account.ledger.remaining(account.dataset)
    where = f"{account.dataset!r} in {account.ledger.path}"
    return {
        "charge": f"{estimator.asked()} to {where}",
        "left": f"{now} before, {left} after",
    }
