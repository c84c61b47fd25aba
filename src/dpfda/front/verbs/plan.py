"""`dpfda plan`: the error to expect of what a verb publishes, from that verb's own public options."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from dpfda.command import options as o
from dpfda.command.declared import Given, Option
from dpfda.command.functions import Group, Verb
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves
from dpfda.front.verbs import published
from dpfda.numerics.scan import Late

WORDS = """What to expect of {what} of N units at epsilon E, or what it needs. No file is read.

With --error or --band: the least epsilon for N units, and the least number of units for E, with which
nine of ten releases keep to it. Per cent are of the distance between the bounds.{table}"""
MEAN = """ Without: errors over a range of epsilon around E.

Typical errors are root mean squares at a point, in the units of the data: bias (what shrinkage and
too few coefficients leave out), noise (for privacy), and, beside them, sampling (of these data
from a wider population, at most). They are the middle over ordinary curves between the bounds; with
--kernel, for a mean as rough as the kernel and as large as allowed. The limit is what no such noise
can go below."""
# What a verb says of its file, its output and its account has no part in a plan.
LEFT_OUT = ("ledger", "invalid", "codes")
OWN = (
    Option(
        "units", "--units", "N",
        "Number of privacy units (persons, if one has several records), in all groups together. "
        "Example: 500",
        o.PRIVACY, int, None,
    ),
    Option(
        "error", "--error", "X",
        "Root mean square error at a point that nine of ten releases keep to, in the units of the "
        "data, or in per cent of the distance between the bounds. Example: --error 0.02 or --error 2%",
        o.PRIVACY, str, None,
    ),
    Option(
        "band", "--band", "X",
        "Instead: half-width of the band that nine of ten releases are to keep to. Example: --band 5%",
        o.PRIVACY, str, None,
    ),
    Option("level", "--level", "P", "Probability of that band.", o.PRIVACY, float, 0.95),
)  # fmt: skip
WRITTEN = (
    o.output("plot", "F.png",
             "Draw error against epsilon and N: .png, .pdf or .svg (extra dpfda[plot])."),
    o.OVERWRITE, o.AS_JSON,
)  # fmt: skip
ON_GRID = Option(
    "points", "--points", "M", "Number of equally spaced grid points of a curve.", o.CURVE, int, o.POINTS
)
SHARE = Option(
    "share", "--share", "P", "Expected share of units with the event, or the outcome, for errors and "
    "bands alone. Example: --share 0.1", o.MODEL, float, None,
)  # fmt: skip
FILLED = (
    Option(
        "filled", "--filled", "P", "Expected part of its bounds that the middle half of an input fills, "
        "for errors and bands alone; .5 where inputs are even. Example: --filled 0.2",
        o.MODEL, float, None,
    ),
    Option(
        "span", "--span", "X", "Expected distance between the smallest and the largest value of the "
        "function, for errors and bands alone. Example: --span 30", o.MODEL, float, None,
    ),
)  # fmt: skip
# Expectations about future data, by the verb that publishes them.
EXPECTED = {
    "survival": (
        Option("late", "--late", "", "Follow-ups may begin late, so that their beginnings are counted.",
               o.CURVE, bool, False),
        Option("followed", "--followed", "T", "Time until which one in ten persons is expected to be "
               "followed without an event, for errors and bands alone. Example: --followed 300",
               o.CURVE, float, None),
    ),
    "density": (
        Option("quarter", "--quarter", "L", "Expected length of the shortest stretch that holds a "
               "quarter of the units, for errors and bands alone. Example: --quarter 8",
               o.DENSITY, float, None),
    ),
    "cox": (SHARE,),
    "classify": FILLED,
    "regress": FILLED,
    "scores": (SHARE,),
}  # fmt: skip


def plan_of(publication: Publication) -> Verb:
    """The plan of what a verb publishes, as a verb: its options are public ones of that verb."""
    words = publication.words.removeprefix("Publish ")
    what = re.split(r"[,.]| under differential privacy| of a file| of columns", words)[0]
    text = WORDS.format(what=what, table=MEAN if publication.name == "mean" else "")
    options, run = partial(_options, publication), partial(_say, publication)
    return Verb(publication.name, text, options, run, publication.plans)


def _options(publication: Publication) -> list[Option]:
    """The public options of the verb, and those of a plan."""
    own = {option.name: option for option in publication.reader.options}
    public = [
        replace(own[name], panel=o.CURVE, default=None if name == "by" else own[name].default)
        for name in publication.reader.public
        if name in own
    ]
    chosen = [
        replace(option, default=None) if name == "epsilon" else option
        for name, option in publication.chosen.items()
        if name not in LEFT_OUT
    ]
    curves = (ON_GRID,) if isinstance(publication.reader, Curves) else ()
    expected = EXPECTED.get(publication.name, ())
    return o.arranged((*OWN, *chosen, *public, *curves, *expected, *WRITTEN), publication.homes)


def _say(publication: Publication, args: Given) -> None:
    """Say what to expect, or what is needed."""
    from dpfda.command.planning import answer

    answer(publication, args)


VERB = Group(
    "plan",
    "What to expect of a summary, or the epsilon or number of units that it needs. No file is read.\n\n"
    "Each takes the public options of the verb that publishes it. Without a name: of a mean.",
    Late([*published()], lambda name: plan_of(published()[name])),
    (
        "dpfda plan --units 500 --epsilon 1 --bounds 0 1",
        "dpfda plan --units 4948 --bounds 0 5 --error 0.1",
        "dpfda plan density --units 2000 --column age:0:100 --error 20% --epsilon 1",
    ),
    o.PLANNING,
    default="mean",
)
