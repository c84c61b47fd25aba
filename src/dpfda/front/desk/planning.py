"""What to expect of a draft, from public numbers alone: error, band, risk, and pictures of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.command.declared import Given
from dpfda.command.planning import NOT_GIVEN
from dpfda.command.planning import needed as looked_for
from dpfda.command.planning import planned as planned_for
from dpfda.command.planning import wanted_of
from dpfda.front.desk.fields import Stated, Value
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.run import options_of, typed_as
from dpfda.privacy.words import number

if TYPE_CHECKING:
    from dpfda.privacy.composition.risk import AttackRisk
    from dpfda.publication import Plan
    from dpfda.views import Curve

LEVEL = 0.95
# False alarms at which the trade-off is drawn.
DRAWN = 61


@dataclass(frozen=True)
class Outlook:
    """A plan, and what it needs for what is wanted."""

    plan: Plan
    least: Mapping[str, Any]

    @cached_property
    def risk(self) -> AttackRisk:
        """What the best attacker can reach."""
        from dpfda.privacy.composition.risk import attack_risk

        return attack_risk(self.plan.costs().values())

    @cached_property
    def facts(self) -> dict[str, str]:
        """What is to be expected, in words."""
        plan, error = self.plan, self.plan.outlook()
        facts = {"Expected error": plan.error_words if error is None else _told(error)}
        width = plan.outlook_width(LEVEL)
        if width is not None:
            facts["Band"] = f"half-width {_told(width)}, of the {LEVEL:.0%} {plan.band_called}"
        if "least_epsilon" in self.least:
            facts["Least epsilon for it"] = f"{self.least['least_epsilon']:g}"
        if "least_n" in self.least:
            facts["Least number for it"] = f"{self.least['least_n']} {plan.unit}s"
        if error is not None:
            facts["This error is"] = plan.error_words
        told = {name.capitalize(): fact for name, fact in plan.facts().items()}
        return {**facts, "Risk": str(self.risk), **told}

    def view(self) -> Curve | None:
        """The expected error against epsilon, where there is one."""
        return None if self.plan.error is None else self.plan.view()

    def trade_off(self) -> Curve:
        """Misses of the best attacker against false alarms."""
        from dpfda.views import Curve, Line

        alarms = np.linspace(0.0, 1.0, DRAWN)
        best = Line(alarms, self.risk.misses(alarms), "the best attacker, at most")
        chance = Line(alarms, 1.0 - alarms, "who knows nothing", stroke="dashed")
        return Curve(
            (best, chance), "false alarms", "misses", "Who tells two neighbouring data sets apart",
            "An attacker who knows all but one unit's data cannot come below the first line",
        )  # fmt: skip


def outlook(verb: str, stated: Stated, folder: Path) -> Outlook:
    """What to expect of a verb with the options that were stated, of which those of its plan are used.

    Raises
    ------
    ParameterError
        If they cannot be used.
    """
    from dpfda.command.made import read_options

    verbs = declared_verbs()
    planning: Any = verbs[f"plan {verb}"]
    options, typed = options_of(planning), list[str]()
    for name, value in stated.items():
        option = options.get(name.replace("-", "_"))
        if option is not None:
            typed += typed_as(option, value, f"--{name}", folder)
    given = Given(**NOT_GIVEN | vars(read_options(planning, typed)))
    publication: Any = verbs[verb]
    plan = planned_for(publication, given)
    wants = given.error is not None or given.band is not None
    return Outlook(plan, looked_for(given, plan, wanted_of(given, plan)) if wants else {})


def asked(verb: str) -> dict[str, Value]:
    """What a plan asks beside the options of the verb, and what is filled in at first."""
    first: dict[str, Value] = {"curves": "500"}
    return first | ({"points": "48"} if "points" in options_of(declared_verbs()[f"plan {verb}"]) else {})


def _told(outlook: tuple[float, float]) -> str:
    typical, most = map(number, outlook)
    return f"about {typical}" + ("" if typical == most else f", for nine of ten releases up to {most}")
