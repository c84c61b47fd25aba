"""What the verbs have in common that learn a function from examples: inputs and a target."""

from __future__ import annotations

import copy
import csv
from collections.abc import Sequence
from typing import Any

from dpfda.front.command import options as o
from dpfda.front.command.declared import DOCSTRING, Given, Option
from dpfda.front.command.publishing import Publication
from dpfda.front.command.reading import parse_ranges
from dpfda.front.command.rows import Examples
from dpfda.numerics.errors import ParameterError

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


def _settings(given: Given) -> dict[str, Any]:
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


def _features(given: Given, inputs: int) -> dict[str, Any]:
    from dpfda.records.features import LinearFeatures

    if given.norm_bound is None:
        return {}
    return {"features": LinearFeatures.of_columns(inputs, given.norm_bound)}


def _try(estimator: Any) -> None:
    """Prepare a release of made-up records, so that most refusals come before the file is read.

    The penalty is too large to be refused, since which ones are depends on the number of units.
    """
    import numpy as np

    from dpfda.summaries.machine_plan import Solving
    from dpfda.summaries.solvers import check_penalty

    penalty = Solving.of(estimator.solver).penalty
    if penalty is not None:
        check_penalty(penalty)
    ends = estimator.classes if hasattr(estimator, "classes") else estimator.target_bounds
    targets = np.array([*ends] * 2)
    trial = copy.copy(estimator).set_params(solver__penalty=1e9)
    trial.prepare(np.zeros((targets.size, len(estimator.bounds[0]))), targets)
