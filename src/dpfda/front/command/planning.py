"""What a summary needs for an error or a band that is wanted, and what to expect of any summary."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

from dpfda.errors import ParameterError
from dpfda.front.command.declared import Given
from dpfda.front.command.publishing import make
from dpfda.front.command.running import print_json

if TYPE_CHECKING:
    from dpfda.publication import Plan

HOMES = {
    "mean": "dpfda.summaries.mean:PrivateMean",
    "compare": "dpfda.summaries.comparison:PrivateComparison",
    "covariance": "dpfda.summaries.covariance:PrivateCovariance",
    "fpca": "dpfda.summaries.fpca:PrivateFPCA",
    "density": "dpfda.summaries.density:PrivateDensity",
    "classify": "dpfda.summaries.classification:PrivateKernelClassifier",
    "regress": "dpfda.summaries.regression:PrivateKernelRegressor",
}
# Options that are parameters, or fields of their objects, by what they are called there.
NAMES = (
    "delta", "neighbours", "public_size", "mechanism", "basis", "radius", "cells", "loss", "solver",
    "features", "penalty",
)  # fmt: skip
# What stands for the one that is not given, until it is found.
EPSILON, UNITS = "1", 100
# The table has a half and twice the least epsilon, and steps between.
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)


def answer(given: Given) -> None:
    """Say what a plan expects, and what an error or a band that is wanted needs."""
    from dpfda.front.command.outputs import check_outputs, save_picture

    made, wanted = planned(given), None
    check_outputs({"--plot": given.plot}, {}, given.overwrite)
    if given.error is not None or given.band is not None:
        wanted = _wanted(given, made)
        found = needed(given, made, wanted)
    else:
        if given.curves is None or given.epsilon is None:
            raise ParameterError(
                "--curves and --epsilon", "be given, or --error or --band", "one of them"
            )
        found = {}
    if given.plot is not None:
        start = found.get("least_epsilon")
        shown = made if start is None else made.at(epsilon=start)
        save_picture(lambda: _drawn(shown), given.plot)
    if given.as_json:
        facts = (
            made.to_json(given.level) if wanted is None else {"summary": made.summary, **made.facts()}
        )
        plot = None if given.plot is None else str(given.plot)
        print_json({**facts, "wanted": wanted, **found, "plot": plot})
    else:
        typer.echo(made.describe(given.level) if wanted is None else _told(given, made, wanted, found))


def planned(given: Given) -> Plan:
    """The plan of a summary, from what was typed."""
    from dpfda.front.command.checks import bound_from, budget_of, check_size
    from dpfda.front.command.reading import ends, parse_points, parse_ranges
    from dpfda.front.command.verbs.covariance import read_center
    from dpfda.summaries.estimator import addressed

    check_size(given)
    kind = make(HOMES[given.summary])
    budget = {"epsilon": Fraction(EPSILON), **budget_of(given)}
    said: dict[str, Any] = {name: getattr(given, name) for name in NAMES}
    said |= {"delta": budget.get("delta", 0), "domain_range": ends(given)}
    said["grid_points"] = None if given.grid is None else parse_points(given.grid, "--grid")
    if given.standardize:
        said["standardize"] = True
    if given.center is not None:
        said["center"] = read_center(given.center)
    if given.summary in ("classify", "regress"):
        named = parse_ranges(given.inputs or (), "--input")
        if not named:
            raise ParameterError(
                "--input", "be given for a machine", "none", "Example: --input age:18:90"
            )
        said["bounds"] = [low for _, low, _ in named], [high for _, _, high in named]
    elif given.summary != "density":
        free = given.summary in ("covariance", "fpca") and given.bounds is None
        said["bounds"] = None if free else bound_from(given)
    said = {name: value for name, value in said.items() if value is not None}
    if said.get("neighbours") == "replace-one":
        del said["neighbours"]
    estimator = kind(budget["epsilon"])
    estimator.set_params(**addressed(kind, said))
    units = UNITS if given.curves is None else given.curves
    if given.summary in ("density", "classify", "regress"):
        made: Plan = estimator.plan(units)
        return made
    made = estimator.plan(units, given.points)
    return made


def _wanted(given: Given, made: Plan) -> dict[str, Any]:
    """What is wanted, in the units of the function."""
    if given.error is not None and given.band is not None:
        raise ParameterError("--error", "be given, or --band, and not both", "both")
    name = "error" if given.band is None else "band"
    text = str(getattr(given, name)).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        words = "be a number, or per cent such as 2%"
        raise ParameterError(f"--{name}", words, repr(text)) from None
    if text.endswith("%"):
        if made.scale is None:
            raise ParameterError(f"--{name}", "be in the units of the data here", repr(text))
        value *= made.scale[0] / 100
    return {name: value, **({"level": given.level} if name == "band" else {})}


def needed(given: Given, made: Plan, wanted: dict[str, Any]) -> dict[str, Any]:
    """The least epsilon, the least number of units, and the table between."""
    found: dict[str, Any] = {}
    if given.curves is not None:
        found["least_epsilon"] = made.least_epsilon(**wanted)
    if given.epsilon is not None:
        found["least_n"] = made.least_n(**wanted)
    if not found:
        raise ParameterError("--curves or --epsilon", "be given with --error or --band", "neither")
    middle = found.get("least_epsilon") or float(made.guarantee.epsilon)  # type: ignore[union-attr]
    start, rows = found.get("least_n") or given.curves, []
    for factor in FACTORS:
        near = made.at(n=max(2, round(start / factor)), epsilon=float(f"{middle * factor:.6g}"))
        rows.append({"epsilon": middle * factor, "least_n": near.least_n(**wanted)})
    return {**found, "between": rows}


def _told(given: Given, made: Plan, wanted: dict[str, Any], found: dict[str, Any]) -> str:
    from dpfda.privacy.words import number
    from dpfda.views import aligned

    error = "error" in wanted
    what = "expected error" if error else f"half-width of the {100 * wanted['level']:g}% band"
    value = wanted["error" if error else "band"]
    lines = [f"Plan: {made.summary}, from public numbers alone; no file was read."]
    facts = {name: fact for name, fact in made.facts().items() if name in ("protects", "bound")}
    lines += [f"  {name + ':':<11} {fact}" for name, fact in facts.items()]
    lines.append(f"  wanted:     {what} of at most {number(value)}")
    if error:
        lines.append(f"  error:      {made.error_words}")
    of = f"{made.unit}s in each group" if given.summary == "compare" else f"{made.unit}s"
    if "least_epsilon" in found:
        lines.append(f"For {given.curves} {of} the least epsilon is {found['least_epsilon']:g}.")
    if "least_n" in found:
        lines.append(f"At epsilon = {given.epsilon} the least number is {found['least_n']} {of}.")
    rows = found["between"]
    columns = {
        "epsilon": [f"{row['epsilon']:.4g}" for row in rows],
        f"least number of {of}": [str(row["least_n"]) for row in rows],
    }
    return "\n".join([*lines, aligned(columns)])


def _drawn(made: Plan) -> Any:
    from dpfda.views import draw

    return draw(made.view()).figure
