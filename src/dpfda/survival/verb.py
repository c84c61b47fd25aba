"""`dpfda survival`: publish the survival curve of follow-ups that may be censored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import WEIGHTS, by, ends, read_by, read_labels, read_weights, weights_taken
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import NamedColumns, named

if TYPE_CHECKING:
    from dpfda.command.reading import Summary
    from dpfda.records.columns import TableColumns
    from dpfda.records.files import Uses

# What columns are for, as options and arguments are called.
NUMBERS, LABELS = ("time", "start"), ("event", "groups")


@dataclass(frozen=True)
class FollowUps(NamedColumns):
    """Follow-ups, a row each."""

    public: ClassVar[Sequence[str]] = ("domain", "by", "survey_weights")

    @property
    def options(self) -> Sequence[Option]:
        return (
            o.FILE,
            o.column("time", "Column with the end of each follow-up.", REQUIRED),
            o.column("event", "Column that says how it ended, in the codes of --cause and --censored. "
                     "By default all are events."),
            o.column("start", "Column with the beginning of each follow-up (left truncation)."),
            by("Column with the group of each person. Who is in which is private, so groups are named.",
               None),
            Option("domain", "--domain", "A B", "Public first and last time, in the units of the data; "
                   "never read from the data. Who is followed beyond it counts as still followed there. "
                   "Example: --domain 0 1000", o.CURVE, tuple[str, str], REQUIRED,
                   sets=("domain_range",)),
            o.X_LABEL, o.GROUPS, WEIGHTS, *o.NOTATION,
        )  # fmt: skip

    def settings(self, args: Given) -> dict[str, object]:
        words = args.x_label or args.time
        return {
            "domain_range": ends(args),
            "labels": {"domain": words} if words else None,
            "causes": args.causes or None,
            "censored": args.censored or None,
            "levels": None if getattr(args, "by", None) is None else read_labels(args.by, "--by")[1],
        }

    def uses(self, args: Given) -> tuple[Uses, Uses]:
        weights = [("weights", name) for name in (read_weights(args) or ())[:1]]
        groups = [] if args.by is None else [("by", read_by(args.by)[0])]
        return [*named(args, NUMBERS), *weights], [*named(args, LABELS), *groups]

    def read(self, args: Given) -> TableColumns:
        from dpfda.survival.follow_ups import Coding

        coding = Coding.of(args.causes or None, args.censored or None)
        coding.checked(args.event is not None, args.invalid)
        return super().read(args)

    def fit(self, estimator: Summary, table: TableColumns, args: Given) -> None:
        uses, columns = [use for use, _ in named(args, NUMBERS)], table.numbers.T
        weights = weights_taken(args, columns)
        estimator.fit(**dict(zip(uses, columns, strict=False)), **table.labels, **weights)


OPTIONS = (
    Option("causes", "--cause", "CODE", "Public code in --event of what ends a follow-up; 1 by "
           "default. Repeat it where causes compete. Example: --cause 2", o.READING, list[str],
           None),
    Option("censored", "--censored", "CODE", "Public code in --event of censoring; 0 by default. "
           "Follow-ups of any other code are refused; --invalid repair needs both --cause and "
           "--censored, and leaves them out. Example: --censored 1", o.READING, list[str], None),
    Option("cells", "--cells", "M", panel=o.CURVE, type=int),
    Option("step", "--step", "D", panel=o.CURVE, type=float, default=None),
)  # fmt: skip
VERB = Publication(
    name="survival",
    words="Publish the survival curve of follow-ups that may be censored, with bands, median, numbers "
    "at risk and a comparison of groups, under differential privacy.",
    estimators=("dpfda.survival.estimator:PrivateSurvival",),
    reader=FollowUps(),
    without=("missing", "standardize"),
    options=OPTIONS,
    plans=("dpfda plan survival --units 228 --domain 0 1100 --error 0.02",),
    examples=(
        "dpfda survival lung.csv --time time --event status --cause 2 --censored 1 --domain 0 1100 "
        "--epsilon 1 --unit patient --x-label 'time (days)' --out lung.json --plot lung.png",
        "dpfda survival lung.csv --time time --event status --cause 2 --censored 1 --by sex:1,2 "
        "--domain 0 1100 --epsilon 1 --out lung-by-sex.json --plot lung-by-sex.png",
    ),
)  # fmt: skip
