"""`dpfda agree`: the signed public parameters of a release of several custodians."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.functions import Group, Verb
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves
from dpfda.command.running import say
from dpfda.front.verbs import published
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.scan import Late

if TYPE_CHECKING:
    from dpfda.spine.estimator import Estimator

CARDS = Option(
    "cards", "", "NAME.card...", "Cards of all custodians, as dpfda keys wrote them.",
    type=list[Path], default=REQUIRED,
)  # fmt: skip
POINTS = Option(
    "points", "--points", "M", "Number of equally spaced grid points, instead of --grid.",
    o.CURVE, int, None,
)  # fmt: skip
NOISE = Option(
    "noise", "--noise", "central|shared",
    "Drawn by the coordinator (central), or a share by every custodian (shared).",
    default="central",
)  # fmt: skip
COLLUDING = Option(
    "colluding", "--colluding", "C",
    "With shared noise or --threshold: how many custodians may tell the coordinator all they know.",
    type=int, default=0,
)  # fmt: skip
THRESHOLD = Option(
    "threshold", "--threshold", "T",
    "How many custodians must be there to the end, so that the sum opens without who vanishes; all by "
    "default. With it dpfda roll and dpfda answer come before dpfda merge.",
    type=int, default=None,
)  # fmt: skip
WEIGHTS = Option(
    "weights", "--custodian-weights", "NAME:W,...",
    "With shared noise: custodians whose units lose less, and which share of epsilon (of the root of "
    "rho) they may lose, such as north:1/2. Their sums count for so much less.",
    default=None,
)  # fmt: skip
VISITS = Option(
    "visits", "--visits", "NAME:M,...",
    "With shared noise: custodians whose units are seen seldom, and how often. Units then have weights "
    "of least variance, none above its share in --custodian-weights.",
    default=None,
)  # fmt: skip
SHARES = (NOISE, WEIGHTS, VISITS)
OUT = o.output("out", "agreed.json", "The agreement.", True)
# What each custodian says of its own file, and what is asked for when the total is published.
LEFT_OUT = {
    "file", "groups", "decimal", "na", "dates", "id", "time", "value", "event", "start", "counts",
    "edges", "multiplier", "ledger", "dataset", "out", "csv", "plot", "as_json", "components_file",
    "difference_plot", "survey_weights",
}  # fmt: skip
CURVES = "--bounds 0 1 --points 93"
BY = f"{CURVES} --by arm:case,control"
# What is agreed on, and its bound in an example.
AGREED = {
    "mean": CURVES, "density": "--column age:0:105", "covariance": CURVES,
    "fpca": "--bounds 0 1 --center bound --points 93", "compare": BY, "test": BY,
    "effects": f"{CURVES} --covariate age:20:80", "survival": "--domain 0 1000",
}  # fmt: skip
CALLED = {
    "compare": "comparison", "fpca": "release of principal components", "test": "test of equality",
    "effects": "regression of curves", "survival": "survival curve",
}  # fmt: skip
NOT_GIVEN = {"decimal": ".", "multiplier": 1}


def agree_on(publication: Publication, bound: str) -> Verb:
    """A verb that signs the public parameters of a publication.

    Parameters
    ----------
    publication : Publication
        Whose options are the parameters.
    bound : str
        In its example.
    """
    name, curves = publication.name, isinstance(publication.reader, Curves)
    without = LEFT_OUT | ({"columns"} if curves else {"by"})

    def options() -> list[Option]:
        public = [option for option in publication.all_options() if option.name not in without]
        # The statistic of a test is taken of exact sums: its noise has no shares.
        rules = [
            *([POINTS] if curves else []),
            *(() if name == "test" else SHARES),
            COLLUDING,
            THRESHOLD,
        ]
        return o.arranged([CARDS, o.CUSTODY_KEYS, *rules, OUT, *public], publication.homes)

    example = (
        f"dpfda agree {name} north.card south.card --keys registry.keys --epsilon 1 {bound} "
        "--unit person --out agreed.json"
    )
    what = CALLED.get(name, name)
    words = f"Sign the public parameters of a {what} of several custodians. No data are read."
    return Verb(name, words, options, partial(_sign, publication), (example,))


def _sign(publication: Publication, args: Given) -> None:
    """Read the cards, make the agreement and write it."""
    from dpfda.command.files import check_outputs
    from dpfda.front import custodians
    from dpfda.publication.custody import Card, Keys

    check_outputs({"--out": args.out}, {"--keys": args.keys}, args.overwrite)
    cards = [Card.load(card) for card in args.cards]
    missing = {option.name: NOT_GIVEN.get(option.name) for option in publication.all_options()}
    estimator = cast("Estimator", publication.estimator(Given(**missing | vars(args))))
    points, secret = getattr(args, "points", None), Keys.load(args.keys)
    curves = isinstance(publication.reader, Curves) and args.missing != "pooled"
    if curves and (points or args.grid) is None:
        remedy = "All custodians' curves must have so many points: --points 93, or --grid 0:23:1."
        raise ParameterError("--points", "be given, or --grid", "neither", remedy)
    noise, rules = getattr(args, "noise", "central"), (args.colluding, args.threshold)
    shares = [_named(getattr(args, name, None)) for name in ("weights", "visits")]
    signed = custodians.agree(estimator, cards, secret, points, noise, *rules, *shares)
    if args.dry_run:
        # The session and the fingerprint are drawn anew for an agreement that is kept.
        facts = custodians.words(signed).partition("\nsession:")[0]
        say(f"Dry run: nothing is signed, sent or written. It would be agreed:\n{facts}")
        return
    signed.save(args.out, args.overwrite)
    text = custodians.words(signed)
    say(f"{text}\nwritten: {args.out}\nNext: send it to all custodians; it is public")


def _named(written: str | None) -> dict[str, object] | None:
    """Numbers by the names of custodians."""
    if written is None:
        return None
    parts = [part.rpartition(":") for part in written.split(",") if part]
    return {name: number for name, _, number in parts}


VERB = Group(
    "agree",
    "Write and sign what custodians who may not pool records agree on before any of them adds up: "
    "bound, budget, mechanism, grid, and everybody's public keys. No data are read.",
    Late([*AGREED], lambda name: agree_on(published()[name], AGREED[name])),
    panel=o.CUSTODIANS,
)
