"""Covariates on the command line: their names with public bounds or levels."""

from __future__ import annotations

from collections.abc import Sequence

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Option
from dpfda.numerics.errors import ParameterError

COVARIATE = Option(
    "covariates", "--covariate", "NAME:LO:HI|NAME:A,B,..",
    "A column that explains the curves, with its public bounds, or with its public levels, of which the "
    "first is what others are compared with. Repeat it. Example: --covariate age:20:80 --covariate "
    "case:control,MS",
    o.MODEL, list[str], REQUIRED,
)  # fmt: skip


# Bounds, or levels.
Known = tuple[float, float] | list[str]


def read_covariates(texts: Sequence[str]) -> dict[str, Known]:
    """Bounds or levels of covariates by name, from what was typed.

    Raises
    ------
    ParameterError
        If one has another form, or a name comes twice.
    """
    found: dict[str, Known] = {}
    for text in texts:
        name, _, rest = text.partition(":")
        ends = rest.split(":")
        if len(ends) > 2:
            # The name itself has colons.
            name, *ends = text.rsplit(":", 2)
        try:
            known: Known = (float(ends[0]), float(ends[1])) if len(ends) == 2 else rest.split(",")
        except ValueError:
            known = []
        if not name or name in found or len(known) < 2:
            remedy = "They are public and never read from the data. Example: --covariate age:20:80"
            raise ParameterError(
                "--covariate", "be NAME:LO:HI or NAME:A,B,.., each name once", repr(text), remedy
            )
        found[name] = known
    return found


def by_kind(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Covariates with bounds, and those with levels."""
    named = read_covariates(texts)
    numbers = [name for name, known in named.items() if isinstance(known, tuple)]
    return numbers, [name for name in named if name not in numbers]
