"""Files with an example a row, and the verbs that learn from them."""

from __future__ import annotations

import copy
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, REQUIRED, Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Reader, as_stated, parse_ranges
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.privacy.certificates import Certificate
    from dpfda.records.columns import TableExamples


@dataclass(frozen=True)
class Examples(Reader["TableExamples"]):
    """Examples: columns of inputs, and a target, of numbers or of two labels."""

    labels: bool = False
    public: ClassVar[Sequence[str]] = ("inputs",)

    @property
    def options(self) -> Sequence[Option]:
        inputs = Option(
            "inputs", "--input", "NAME:LO:HI",
            "An input column and its public bounds, in its units; values outside are moved to the "
            "nearer one. Repeat it; NAME may be a glob. Example: --input age:18:90 --input 'px_*:0:16'",
            o.MODEL, list[str], REQUIRED, sets=("bounds",),
        )  # fmt: skip
        target = Option("target", "--target", "COLUMN", "Column to predict.", o.MODEL, default=REQUIRED)
        return (o.FILE, inputs, target, o.GROUPS, *o.NOTATION)

    def settings(self, given: Given) -> dict[str, object]:
        named = parse_ranges(given.inputs, "--input")
        bounds = [low for _, low, _ in named], [high for _, _, high in named]
        return {"bounds": bounds, "unit": given.unit or given.groups}

    def read(self, given: Given) -> TableExamples:
        from dpfda.records.columns import read_examples

        names = [name for name, _, _ in parse_ranges(given.inputs, "--input")]
        with as_stated(given.file, given.decimal, given.na, given.invalid) as stated:
            return read_examples(
                given.file,
                names,
                given.target,
                labels=self.labels,
                groups=given.groups,
                stated=stated,
            )

    def found(self, given: Given, table: TableExamples) -> dict[str, object]:
        if given.plot is not None and len(table.columns) > 2:
            # A glob says only now how many there are; nothing is charged yet.
            words = "be left out for more than two input columns"
            raise ParameterError("--plot", words, len(table.columns))
        named = parse_ranges(given.inputs, "--input")
        matched = [named[place] for place in table.matched]
        return {
            "bounds": ([low for _, low, _ in matched], [high for _, _, high in matched]),
            "labels": {"domain": ", ".join(table.columns), "value": given.target},
        }

    def fit(self, estimator: Summary, table: TableExamples, given: Given) -> Fitted:
        return estimator.fit(table.inputs, table.target, groups=table.groups)

    def used(self, given: Given, table: TableExamples) -> list[str]:
        return [*table.columns, given.target]


COMPONENTS = Option("components", "--components", "K", DOCSTRING, o.MODEL, int)
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
        options=(COMPONENTS, NORM_BOUND),
        without=("neighbours", "public_size", "missing", "standardize"),
        settings=_settings,
        found=lambda given, table: _features(given, len(table.columns)),
        csv=False,
        examples=examples,
        plans=plans,
    )


def _settings(given: Given) -> dict[str, object]:
    if given.norm_bound is not None and given.features not in ("auto", "linear"):
        raise ParameterError("--norm-bound", "go with --features linear", given.features)
    stated = _features(given, len(parse_ranges(given.inputs, "--input")))
    if hasattr(given, "classes"):
        stated["classes"] = _labels(given.classes)
    return stated


def _labels(text: str) -> tuple[str, ...]:
    """Labels with commas between them; one that holds a comma stands in quotes, as in a CSV file."""
    (labels,) = csv.reader([text], skipinitialspace=True)
    if len(set(labels)) < max(2, len(labels)) or not all(labels):
        words = "be two or more different labels, with commas between them"
        raise ParameterError("--classes", words, repr(text), "Example: --classes 0,1")
    return tuple(labels)


def _features(given: Given, inputs: int) -> dict[str, object]:
    from dpfda.records.features import LinearFeatures

    if given.norm_bound is None:
        return {}
    return {"features": LinearFeatures.of_columns(inputs, given.norm_bound)}


def _try(estimator: Any) -> Certificate:
    """Prepare a release of made-up records, so that most refusals come before the file is read.

    The penalty is too large to be refused, since which ones are depends on the number of units.
    """
    import numpy as np

    from dpfda.machines.plan import Solving
    from dpfda.machines.solvers import check_penalty

    penalty = Solving.of(estimator.solver).penalty
    if penalty is not None:
        check_penalty(penalty)
    ends = estimator.classes if hasattr(estimator, "classes") else estimator.target_bounds
    targets = np.array([*ends] * 2)
    inputs, trial = len(estimator.bounds[0]), copy.copy(estimator)
    if not estimator.tabled(inputs):
        trial.set_params(solver__penalty=1e9)
    prepared = trial.prepare(np.zeros((targets.size, inputs)), targets)
    made: Certificate = prepared.plan.certified()
    return made
