"""The desk's page to try public choices on: imaginary releases of made-up curves, never of a file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flask import Blueprint, request

from dpfda.command.running import typed
from dpfda.front.desk.examples import SHAPES, Shape
from dpfda.front.desk.fields import Field, Form, field_of, own
from dpfda.front.desk.session import Answer, page, part
from dpfda.front.desk.studies import alone
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.run import options_of
from dpfda.mean.estimator import PrivateMean
from dpfda.mean.two_looks import single
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.parameters import choice, exact, real, shown, whole
from dpfda.numerics.words import several
from dpfda.privacy.caveats import already_charged
from dpfda.privacy.words import number
from dpfda.publication import MeanPlan
from dpfda.publication.averages import publish_curve
from dpfda.releases.facts import sections
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.settings import Domain, PrivacyUnit
from dpfda.spine.sums import Summation
from dpfda.views import Curve, Line
from dpfda.views.page import Section

EXPLORING = Blueprint("exploring", __name__)
KERNELS = {
    "": "smooth shapes of many scales",
    "matern:30%:2.5": "smooth, range 30%",
    "matern:10%:1.5": "rougher, range 10%",
    "exponential:10%": "rough, range 10%",
    "rbf:30%": "very smooth, range 30%",
}
NEIGHBOURS = {"replace-one": "replaced; number public", "add-remove": "added or removed; number private"}
# What the sliders reach; the fields beside them take no more either, so that an answer comes soon.
EPSILON, DELTA = (0.01, 20.0), (0.0, 1e-3)
WHOLE, FARTHEST = {"curves": (2, 1_000_000), "points": (4, 100)}, 1e6
# Means that are simulated for the expected error, where it has no closed form.
DRAWS = 100
# Curves of people that are drawn.
DRAWN = 40
LEVEL = 0.95


@dataclass(frozen=True)
class Setting:
    """Public choices, as text where decimals are read as they are written.

    Parameters
    ----------
    shape : str
        Name of the curves.
    epsilon, delta : str
    curves, points : int
        Numbers of people and of grid points.
    low, high : float
        The bounds.
    kernel, neighbours : str
    """

    shape: str = "load"
    epsilon: str = "1"
    delta: str = "0"
    curves: int = 500
    low: float = 0.0
    high: float = 5.0
    points: int = 48
    kernel: str = ""
    neighbours: str = "replace-one"

    @classmethod
    def read(cls, sent: Mapping[str, str]) -> Setting:
        """What a form sent, checked.

        With ``was``, the shape that the form was made for: bounds of another shape are put back to
        those that its own begin with.

        Raises
        ------
        ParameterError
            If a choice cannot be used.
        """
        texts: Json = {
            field.name: sent[field.name].strip() for field in fields(cls) if field.name in sent
        }
        texts |= {name: _number(texts[name], name) for name in (*WHOLE, "low", "high") if name in texts}
        setting = cls(**texts)
        choice(setting.shape, "shape", tuple(SHAPES))
        if not {"low", "high"} <= {*texts} or sent.get("was", setting.shape) != setting.shape:
            low, high = SHAPES[setting.shape].bounds
            setting = replace(setting, low=low, high=high)
        return setting.checked()

    def checked(self) -> Setting:
        """The same, where it can be used."""
        choice(self.kernel, "kernel", tuple(KERNELS))
        choice(self.neighbours, "neighbours", tuple(NEIGHBOURS))
        for name, (least, most) in (("epsilon", EPSILON), ("delta", DELTA)):
            value = exact(getattr(self, name), name)
            if not Fraction(str(least)) <= value <= Fraction(str(most)):
                raise ParameterError(name, f"lie between {least:g} and {most:g} here", shown(value))
        return self

    def sent(self) -> dict[str, str]:
        """What a form would send."""
        return {name: f"{v:g}" if isinstance(v, float) else str(v) for name, v in asdict(self).items()}

    def imagine(self) -> Imagined:
        """Release the mean of the made-up curves once.

        Raises
        ------
        ParameterError
            If the estimator refuses the choices.
        """
        shape = SHAPES[self.shape]
        mean = PrivateMean(
            exact(self.epsilon, "epsilon"),
            exact(self.delta, "delta"),
            bounds=(self.low, self.high),
            basis=self.kernel or None,
            domain=Domain(domain_range=shape.domain_range, labels=shape.labels),
            unit=PrivacyUnit(name=shape.unit, neighbours=self.neighbours),
        )
        plan = single(mean.plan(self.curves, self.points))
        curves = shape.curves(self.points)
        summation = Summation.of(plan)
        everyone = summation.of_records(curves)
        rest = summation.of_records(curves[: self.curves % len(curves)])
        for _ in range(self.curves // len(curves)):
            rest.merge(everyone)
        with already_charged():
            # Nobody's data are in it: no ledger is theirs.
            release = publish_curve(summation.finish(rest, plan), plan)
        return Imagined(self, shape, plan, release, curves)


@dataclass(frozen=True, eq=False)
class Imagined:
    """One imaginary release, and what is to be seen of it."""

    setting: Setting
    shape: Shape
    plan: MeanPlan
    release: ReleasedFunction
    curves: Floats

    @cached_property
    def means(self) -> tuple[Floats, Floats]:
        """Mean of the people as they are, and within the bounds."""
        whole_rounds, rest = divmod(self.setting.curves, len(self.curves))
        times = np.full(len(self.curves), float(whole_rounds))
        times[:rest] += 1
        clipped = np.clip(self.curves, self.setting.low, self.setting.high)
        free, bounded = (np.average(rows, axis=0, weights=times) for rows in (self.curves, clipped))
        return free, bounded

    @cached_property
    def _line(self) -> Line:
        drawn: Line = self.release.view(LEVEL).lines[0]
        return drawn

    @cached_property
    def facts(self) -> dict[str, str]:
        """What is to be expected, and what came out this once."""
        free, bounded = self.means
        # The unit of the values, where their label has one.
        grid, unit = self.release.grid_points, self.shape.labels["value"].partition("(")[2].rstrip(")")
        expected, line = self.plan.expected_error(DRAWS), self._line
        error = 0.0 if expected is None else self.plan.typical(expected.total)
        half = 0.0 if line.lower is None or line.upper is None else np.mean(line.upper - line.lower) / 2
        distance = float(np.sqrt(np.mean((self.release(grid) - bounded) ** 2)))
        low, high = self.setting.low, self.setting.high
        outside = float(np.mean((self.curves < low) | (self.curves > high)))
        moved = float(np.max(np.abs(free - bounded)))
        cut = "no value of these curves lies outside"
        if outside:
            cut = (
                f"{outside:.1%} of the values lie outside and are moved to the nearer bound, which "
                f"moves the mean by up to {number(moved)} {unit}; with private curves nobody could tell"
            )
        return {
            "Expected error": f"about {number(error)} {unit}, root mean square at a point",
            "This time": f"{number(distance)} {unit}, which only made-up curves let us see",
            "Band": f"half-width {number(float(half))} {unit} on average; {line.band}",
            "Bounds": cut,
            "Guarantee": f"{self.plan.guarantee}; {self.plan.neighbours.describe(self.shape.unit)}",
            "Noise": self.plan.noise_words,
        }

    def view(self) -> Curve:
        """The release with its band, the mean that it is of, people's curves and the bounds."""
        grid = self.release.grid_points
        _, bounded = self.means
        every = max(1, len(self.curves) // DRAWN)
        people = [
            Line(grid, curve, f"curves of {several(self.shape.unit)}") for curve in self.curves[::every]
        ]
        ends = np.array(self.release.domain_range)
        limits = [
            Line(ends, np.full(2, limit), "bounds", stroke="dotted")
            for limit in (self.setting.low, self.setting.high)
        ]
        first = replace(self._line, label="what would be published")
        mean = Line(grid, bounded, "mean without noise, never published", stroke="dashed")
        words = "Nobody's data: made-up or public curves, and fresh noise each time"
        labels, behind = self.shape.labels, (*people, *limits)
        title = f"Mean of {self.setting.curves} curves: {self.shape.title}"
        return Curve((first, mean), labels["domain"], labels["value"], title, words, behind=behind)

    def commands(self) -> dict[str, str]:
        """What can be typed for the same: what it does, and the command."""
        form, shape = self.setting, self.shape
        low, high = (f"{end:g}" for end in shape.domain_range)
        chosen = ["--epsilon", form.epsilon, "--bounds", f"{form.low:g}", f"{form.high:g}"]
        chosen += ["--domain", low, high]
        chosen += ["--delta", form.delta] if exact(form.delta, "delta") else []
        chosen += ["--kernel", form.kernel] if form.kernel else []
        chosen += [] if form.neighbours == "replace-one" else ["--neighbours", form.neighbours]
        plan = ["dpfda", "plan", "--units", str(form.curves), "--points", str(form.points), *chosen]
        mean = ["dpfda", "mean", "curves.csv", *chosen, "--unit", shape.unit]
        mean += ["--x-label", shape.labels["domain"], "--y-label", shape.labels["value"]]
        return {
            "Expect the same, without a file": shlex.join(plan),
            "Publish the mean of a file of your own": shlex.join([*mean, "--out", "mean.json"]),
        }


def _number(text: str, name: str) -> float:
    if name in WHOLE:
        return whole(int(text) if text.isdecimal() else text, name, *WHOLE[name])
    try:
        return real(float(text), name, -FARTHEST, FARTHEST)
    except ValueError:
        raise ParameterError(name, "be a number", shown(text)) from None


@EXPLORING.get("/explore/")
def explore() -> Answer:
    """Imaginary means of made-up curves, or the part of the page that changes."""
    full, setting, values = "live" not in request.args, Setting(), dict(request.args)
    with alone():
        try:
            setting = Setting.read(request.args)
            shown = _content(setting.imagine(), full or "words" in request.args)
            values = setting.sent()
        except DpfdaError as error:
            shown = {"unusable": typed(error)}
        if not full:
            return part(**shown), 422 if "unusable" in shown else 200
        form = Form(
            "/explore/", "Draw again", {"": _fields(setting.shape)}, setting.sent() | values,
            hidden={"was": setting.shape}, live=True, method="get",
        )  # fmt: skip
        text = page("explore", forms=[form], live="plan", **shown)[0]
    return text, 422 if "unusable" in shown else 200


def _content(imagined: Imagined, words: bool) -> Json:
    """What the page shows of a release; if wanted what that says of itself."""
    facts, texts = dict(imagined.facts), sections(imagined.release.facts) if words else {}
    return {
        "answer": f"Expected error: {facts.pop('Expected error')}.", "view": imagined.view(),
        "told": [Section("", facts=facts)],
        "codes": {what: (what, command) for what, command in imagined.commands().items()},
        "further": "What such a release would say of itself",
        "parts": [Section(title, paragraphs) for title, paragraphs in texts.items()],
    }  # fmt: skip


def _fields(shape: str) -> list[Field]:
    """What may be chosen; sliders reach as far as the curves need it."""
    options, titles = options_of(declared_verbs()["plan mean"]), {x: y.title for x, y in SHAPES.items()}
    epsilon, points, delta, neighbours = (
        field_of(options[name]) for name in ("epsilon", "points", "delta", "neighbours")
    )
    reach = (*SHAPES[shape].reach, "")
    return [
        own("shape", choices=titles),
        replace(epsilon, slider=(*EPSILON, "log")),
        own("curves", slider=(20, 100_000, "log whole")),
        own("low", slider=reach),
        own("high", slider=reach),
        replace(points, slider=(*WHOLE["points"], "whole")),
        delta,
        own("kernel", choices=KERNELS),
        replace(neighbours, choices=NEIGHBOURS),
    ]
