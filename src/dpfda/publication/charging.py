"""What a release costs, written once: its certificate, the charge, and the entry in the ledger."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from dpfda.errors import DpfdaError
from dpfda.mechanisms import Design, mechanisms
from dpfda.noise import AnyNorm, NoiseLaw, Width, achieved_guarantee, cost_of
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, split, within
from dpfda.privacy.ledger import AnyLedger
from dpfda.publication.accounts import charge_account
from dpfda.publication.requests import COUNT_SHARE, Request

# Stages of a release whose number of units is released too.
COUNT, FUNCTION = "count", "function"


def charge(
    ledger: AnyLedger | None, dataset: str | None, certificate: Certificate, entry: Mapping[str, Any]
) -> None:
    """Charge the costs in a certificate to a ledger, if one is given or named in the environment.

    Raises
    ------
    ParameterError
        If there is a ledger and the data set has no name.
    BudgetError
        If the ledger refuses.
    LedgerError
        If the fit is one of many and its ledger is no reservation.
    """
    charge_account(ledger, dataset, certificate.costs, {**entry, "release": certificate.identity})


def certified(request: Request) -> Certificate:
    """The certificate of a release that is about to be charged."""
    mechanism = {"name": getattr(request.mechanism, "name", str(request.mechanism))}
    costs, bound = stage_costs(request), bound_of(request)
    return Certificate.charged(costs, request.neighbours, request.unit, bound, mechanism)


def bound_of(request: Request) -> dict[str, Any]:
    """The public bound in words and numbers."""
    return {"description": request.bound.describe(), **request.bound.to_json()}


def certified_entry(
    costs: Mapping[str, Cost], entry: Mapping[str, Any], mechanism: Mapping[str, Any] | None = None
) -> Certificate:
    """As `certified`, from the public description that goes into the ledger's history."""
    return Certificate.charged(
        costs,
        Neighbours.parse(entry["neighbours"]),
        entry["privacy_unit"],
        {"description": entry["bound"]},
        {"name": entry["mechanism"]} if mechanism is None else mechanism,
    )


def stage_costs(request: Request) -> dict[str, Cost]:
    """What each stage of a release is charged, and its law where that is known beforehand.

    A law that awaits the released count is not known: the stage then costs its guarantee, whatever the
    count is.
    """
    design, size = request.public_design, request.public_size
    if design is not None and size is not None:
        return {WHOLE: _design_cost(request, design, size)}
    part, rest = split(request.guarantee, COUNT_SHARE)
    named = isinstance(request.mechanism, str) and mechanisms().get(request.mechanism)
    known = getattr(named, "one_law", False)
    function = _design_cost(request, request.trial, 1) if known else Cost(rest)
    return {COUNT: Cost(part, LaplaceLoss(part.epsilon)), FUNCTION: function}


def _design_cost(request: Request, design: Design, size: int) -> Cost:
    problem = request.problem(size)
    achieved = recomputed(design.noise, *problem.differences(design), problem.guarantee)
    return cost_of(design.noise, achieved, problem.guarantee)


def entry_of(request: Request) -> dict[str, Any]:
    """Public description of a release for the ledger's history."""
    return {
        "summary": request.about.get("summary", "function"),
        "neighbours": str(request.neighbours),
        "privacy_unit": request.unit,
        "bound": request.bound.describe(),
        "basis": request.basis.describe(),
        "mechanism": str(request.mechanism),
    }


def recomputed(noise: NoiseLaw, norm: AnyNorm, width: Width, part: Guarantee) -> Guarantee:
    """The guarantee of the scales in force, which must not exceed the part of the budget.

    Raises
    ------
    DpfdaError
        If it does.
    """
    achieved = achieved_guarantee(noise, norm, width, part)
    if not within(achieved, part):
        raise DpfdaError(f"The mechanism's noise gives {achieved}, which is more than {part}.")
    return achieved


def stamp() -> dict[str, Any]:
    """Date and versions that a release carries."""
    return {
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": dict(_versions()),
    }


@cache
def _versions() -> dict[str, str]:
    # Looked up once: a search of the file system takes longer than a small release.
    packages = ("dpfda", "numpy", "python-flint")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
