"""What to expect of a draft, from public numbers alone: error, band, risk, and pictures of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.command import planning
from dpfda.command.declared import Given
from dpfda.command.made import read_options
from dpfda.front.desk.fields import Stated, Value
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.plan import OWN
from dpfda.front.verbs.run import options_of, typed_as
from dpfda.numerics.words import several

if TYPE_CHECKING:
    from dpfda.privacy.composition.risk import AttackRisk
    from dpfda.publication import Plan
    from dpfda.views import Curve

LEVEL = 0.95
# False alarms at which the trade-off is drawn.
DRAWN = 61
# What a plan asks beside the options of the verb, and epsilon again; first of it, the number of units.
UNITS, *WANTED = (option.flag.removeprefix("--") for option in OWN)
ASKED = ("epsilon", UNITS, "points", *WANTED)


@dataclass(frozen=True)
class Outlook:
    """A plan, and what is needed for an error or a band that is wanted."""

    plan: Plan
    least: Mapping[str, Any]

    @cached_property
    def risk(self) -> AttackRisk:
        """What the best attacker can reach."""
        from dpfda.privacy.composition.risk import attack_risk

        return attack_risk(self.plan.costs().values())

    def facts(self) -> dict[str, str]:
        """What is to be expected, in words; it may take long."""
        facts = self.plan.prospects(LEVEL)
        if "least_epsilon" in self.least:
            facts["least epsilon for it"] = f"{self.least['least_epsilon']:g}"
        if "least_n" in self.least:
            facts["least number for it"] = f"{self.least['least_n']} {several(self.plan.unit)}"
        return {name.capitalize(): fact for name, fact in {**facts, "risk": str(self.risk)}.items()}

    def trade_off(self) -> Curve:
        """Misses of the best attacker against false alarms."""
        from dpfda.views import Curve, Line

        alarms = np.linspace(0.0, 1.0, DRAWN)
        best = Line(alarms, self.risk.misses(alarms), "the best attacker, at most")
        chance = Line(alarms, 1.0 - alarms, "who knows nothing", stroke="dashed")
        title = "Telling two neighbouring data sets apart"
        words = "Nobody comes below the first line, whatever else they know"
        return Curve((best, chance), "false alarms", "misses", title, words)


def outlook(verb: str, stated: Stated, folder: Path) -> Outlook:
    """What to expect of a verb with what was stated, of which the options of its plan are used.

    Raises ParameterError if they cannot be used.
    """
    publication: Any = declared_verbs()[verb]
    plan_verb = declared_verbs()[f"plan {verb}"]
    options, typed = options_of(plan_verb), list[str]()
    for name, value in stated.items():
        option = options.get(name.replace("-", "_"))
        if option is not None:
            typed += typed_as(option, value, f"--{name}", folder)
    given = Given(**planning.NOT_GIVEN | vars(read_options(plan_verb, typed)))
    plan = planning.planned(publication, given)
    if given.error is None and given.band is None:
        return Outlook(plan, {})
    return Outlook(plan, planning.needed(given, plan, planning.wanted_of(given, plan)))


def asked_first(verb: str, chosen: Stated) -> dict[str, Value]:
    """Numbers that a plan begins with; of points where no grid is stated."""
    known = options_of(declared_verbs()[f"plan {verb}"])
    points = "points" in known and not {"grid", "id"} & {*chosen}
    return {UNITS: "500", **({"points": "48"} if points else {})}


def calendar(charged: Iterable[Mapping[str, Any]]) -> str:
    """How many releases each month has, of rows of a ledger."""
    months = Counter(row["time"][:7] for row in charged)
    return ", ".join(f"{month}: {count}" for month, count in months.items()) or "none yet"
