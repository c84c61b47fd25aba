"""`dpfda month`: publish the next month's mean curve, and the mean of all months so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, REQUIRED, Given, Option
from dpfda.command.publishing import LABELS, Publication
from dpfda.command.reading import Curves
from dpfda.command.running import note
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import so_many

if TYPE_CHECKING:
    from dpfda.command.reading import Summary
    from dpfda.mean.running.estimator import PrivateRunningMean
    from dpfda.records.files import TableCurves
    from dpfda.releases.base import Release

STATE = Option(
    "state", "--state", "F.state",
    "Where the secret state is kept from month to month: made, and charged for all months, by the "
    "first one, whose options it has. Keep it; do not copy or share it.",
    o.READING, Path, REQUIRED,
)  # fmt: skip
MOVED = Option(
    "moved", "--moved", "",
    "The state was moved on purpose, and no other copy of it will be used: two would give two draws of "
    "noise, which average out.",
    o.READING, bool, False,
)  # fmt: skip
MONTH = Option(
    "month", "--month", "N",
    "Number of this month, from 1. One that was published is written again as it was.",
    o.READING, int, REQUIRED,
)  # fmt: skip
# What is typed for every month; other choices are those of the first one.
ANEW = ("file", "state", "moved", "month", "ledger", "dataset")
BUDGET = ("epsilon", "delta", "rho")


@dataclass(frozen=True)
class MonthCurves(Curves):
    """The curves of one month, with the state that goes on from month to month."""

    @property
    def options(self) -> Sequence[Option]:
        return (*super().options, STATE, MOVED, MONTH)

    def release(self, estimator: Summary, table: TableCurves, given: Given) -> Release:
        from dpfda.command.files import relabelled
        from dpfda.mean.running.months import Months

        mean, typed = cast("PrivateRunningMean", estimator), given.typed
        if given.state.exists():
            months = mean.resume(given.state, given.moved)
        elif given.month != 1:
            words = f"name the state of the {so_many(given.month - 1, 'month')} before"
            raise ParameterError("--state", words, "no such file", "Nothing was charged.")
        else:
            first = mean.month(table.data, table.groups, None)
            plan = mean.plan(first.units, first.basis.grid_points)
            months = Months.open(mean, given.state, plan, typed)
        if given.month <= months.published:
            note(f"month {given.month} was published before: FILE is not used")
        with months:
            release: Release = months.publish(table.data, groups=table.groups, month=given.month)
        # The state keeps the names of the first month; others that were typed are this one's.
        return relabelled(release, *(typed.get(name) for name in LABELS))

    def paid(self, given: Given) -> str:
        if given.month == 1:
            return "month 1 was paid for before" if given.state.exists() else ""
        return f"month {given.month} was paid for with the first one"

    def notes(self, given: Given, table: TableCurves) -> list[str]:
        paid = [f"{self.paid(given)}: nothing was charged for it"] if given.month > 1 else []
        return [*super().notes(given, table), *paid]


@dataclass(frozen=True)
class Monthly(Publication):
    """Months: what was chosen for the first one need not be typed again."""

    def all_options(self) -> list[Option]:
        panels = (o.PRIVACY, o.BOUND, o.CURVE, o.READING)
        return [
            option.remembered() if option.panel in panels and option.name not in ANEW else option
            for option in super().all_options()
        ]

    def run(self, given: Given) -> None:
        from dpfda.mean.running.months import first_typed, other_parameters

        before = first_typed(given.state, given.moved) if given.state.exists() else {}
        first = before.get("groups")
        if first and (own := given.typed.get("groups", first)) != first:
            # Whose each record is: by another column a unit would count several times.
            raise other_parameters(f"groups {own!r} in the place of {first!r}")
        # Of a state nothing else is an option; a budget that is typed is the whole one.
        anew = {*given.typed, *(BUDGET if {*given.typed} & {*BUDGET} else ())}
        names = {option.name for option in self.all_options() if option.standing is not REQUIRED} - anew
        super().run(Given(**vars(given) | {name: before[name] for name in names & before.keys()}))

    def estimator(self, given: Given) -> Summary:
        mean = super().estimator(given)
        # Bounds have no default, though they need not be typed again.
        cast("PrivateRunningMean", mean).stated()
        return mean


VERB = Monthly(
    name="month",
    words="Publish the mean curve of one month, and that of all months so far, under differential "
    "privacy: one charge pays for all months. Run it once a month with the same state, which keeps the "
    "options of the first one.",
    estimators=("dpfda.mean.running.estimator:PrivateRunningMean",),
    reader=MonthCurves(),
    without=("standardize", "public_size", "neighbours"),
    options=(
        o.BOUNDED,
        Option("steps", "--steps", "T", DOCSTRING, o.PRIVACY, int),
        Option("most_months", "--most-months", "K", DOCSTRING, o.PRIVACY, int),
    ),
    plans=("dpfda plan month --units 500 --epsilon 1 --bounds 0 10 --steps 60",),
    examples=(
        "dpfda month may.csv --month 1 --state load.state --rho 0.5 --bounds 0 10 --steps 60 "
        "--unit home --most-months 60 --out may.json --plot may.png",
        "dpfda month june.csv --month 2 --state load.state --out june.json",
    ),
)
