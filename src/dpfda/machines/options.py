"""Files with an example a row, and the verbs that learn from them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import read_labels, read_range, read_ranges
from dpfda.command.declared import DOCSTRING, REQUIRED, Given, Option
from dpfda.command.publishing import TRIED_UNITS, Publication
from dpfda.command.reading import Reader, Summary, as_stated
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.certificates import Certificate
    from dpfda.records.columns import TableColumns


NUMBERS = Option(
    "target", "--target", "NAME:LO:HI",
    "Column to predict, and its public bounds, in its units; targets outside are moved to the nearer "
    "one. Example: --target pressure:60:200",
    o.MODEL, default=REQUIRED, sets=("target_bounds", "y"),
)  # fmt: skip
CLASSES = Option(
    "target", "--target", "NAME:A,B,..",
    "Column to predict, and its classes, public, as they are written in the file. Of two, the "
    "function is positive for the second; of more there is a function for each, and the largest "
    "decides. Example: --target species:setosa,versicolor,virginica",
    o.MODEL, default=REQUIRED, sets=("classes", "y"),
)  # fmt: skip


@dataclass(frozen=True)
class Examples(Reader["TableColumns"]):
    """Examples: columns of inputs, and a target, of numbers or of two labels."""

    labels: bool = False
    public: ClassVar[Sequence[str]] = ("inputs", "target")

    @property
    def options(self) -> Sequence[Option]:
        inputs = Option(
            "inputs", "--covariate", "NAME:LO:HI",
            "A column that explains the target, and its public bounds, in its units; values outside are "
            "moved to the nearer one. Repeat it; NAME may be a glob. Example: --covariate age:18:90 "
            "--covariate 'px_*:0:16'",
            o.MODEL, list[str], REQUIRED, sets=("bounds", "input"),
        )  # fmt: skip
        return (o.FILE, inputs, CLASSES if self.labels else NUMBERS, o.GROUPS, *o.NOTATION)

    def settings(self, given: Given) -> dict[str, object]:
        named = read_ranges(given.inputs, "--covariate")
        bounds = [ends for _, *ends in named]
        if given.norm_bound is not None and given.features not in ("auto", "linear"):
            raise ParameterError("--norm-bound", "go with --features linear", given.features)
        _, levels = self._target(given)
        own = {"bounds": bounds, "classes" if self.labels else "target_bounds": levels}
        return own | _features(given, len(named))

    def _target(self, given: Given) -> tuple[str, object]:
        """The column to predict, and its classes or its bounds."""
        if self.labels:
            return read_labels(given.target, "--target")
        name, low, high = read_range(given.target, "--target")
        return name, (low, high)

    def read(self, given: Given) -> TableColumns:
        from dpfda.records.columns import read_examples

        names = [name for name, _, _ in read_ranges(given.inputs, "--covariate")]
        with as_stated(given.file, given.decimal, given.na, given.invalid) as stated:
            return read_examples(
                given.file,
                names,
                self._target(given)[0],
                labels=self.labels,
                groups=given.groups,
                stated=stated,
            )

    def from_header(self, given: Given, table: TableColumns) -> dict[str, object]:
        if given.plot is not None and len(table.columns) > 2:
            # A glob says only now how many there are; nothing is charged yet.
            words = "be left out for more than two input columns"
            raise ParameterError("--plot", words, len(table.columns))
        named = read_ranges(given.inputs, "--covariate")
        matched = [named[place] for place in table.matched]
        return {
            "bounds": [ends for _, *ends in matched],
            "labels": {"domain": ", ".join(table.columns), "value": self._target(given)[0]},
            **_features(given, len(table.columns)),
        }

    def fit(self, estimator: Summary, table: TableColumns, given: Given) -> None:
        estimator.fit(table.numbers, table.labels["target"], groups=table.groups)

    def used(self, given: Given, table: TableColumns) -> list[str]:
        return [*table.columns, self._target(given)[0]]


COMPONENTS = Option("components", "--components", "K", DOCSTRING, o.MODEL, int)
POWER = Option(
    "power", "--power", "Q|search", f"{DOCSTRING} Example: --power 0.25 --power search", o.MODEL
)
# Not a parameter of the estimators: it makes the features.
NORM_BOUND = Option(
    "norm_bound", "--norm-bound", "R",
    "linear: largest length of (1, inputs scaled to [-1, 1]); longer ones are shrunk. A smaller one "
    "means less noise. By default every record is brought to one length.",
    o.MODEL, float, None,
)  # fmt: skip


def machine(
    name: str, words: str, estimators: Sequence[str], examples: Sequence[str], plans: Sequence[str]
) -> Publication:
    """A verb that publishes a function of inputs."""
    return Publication(
        name=name,
        words=f"{words}\n\nOne unit may be replaced by another; their number is public.",
        estimators=estimators,
        reader=Examples(labels=name == "classify"),
        trial=_try,
        options=(COMPONENTS, NORM_BOUND, POWER),
        without=("neighbours", "public_size", "missing", "standardize"),
        csv=False,
        examples=examples,
        plans=plans,
    )


def _features(given: Given, inputs: int) -> dict[str, object]:
    from dpfda.records.features import LinearFeatures

    if given.norm_bound is None:
        return {}
    return {"features": LinearFeatures.of_columns(inputs, given.norm_bound)}


def _try(estimator: Any) -> Certificate:
    """Plan a release of made-up size, so that most refusals come before the file is read.

    The penalty is too large to be refused, since which ones are depends on the number of units.
    """
    from dpfda.machines.plan import Features, Solving
    from dpfda.machines.solvers import check_penalty
    from dpfda.machines.table_release import MOST_INPUTS

    penalty = Solving.of(estimator.solver).penalty
    if penalty is not None:
        check_penalty(penalty)
    inputs, trial = estimator.stated_inputs(), copy.copy(estimator)
    chosen = Features.of(estimator.features)
    if inputs <= MOST_INPUTS and isinstance(chosen, Features):
        # A glob may stand for more columns, which a power is for.
        trial.set_params(features=replace(chosen, power=None))
    if not trial.tabled(inputs):
        trial.set_params(solver__penalty=1e9)
    certificate: Certificate = trial.plan(TRIED_UNITS).certified()
    return certificate
