"""The density of one variable of two where the other has a value that was typed."""

from __future__ import annotations

from dpfda.density.release import ReleasedDensity
from dpfda.numerics.errors import ParameterError
from dpfda.releases.base import Release


def conditional(release: Release, given: str) -> Release:
    """The density of one variable of two where the other has a value: "40", "age=40".

    Raises
    ------
    ParameterError
        If the release is no density of two variables, or it is none of these.
    """
    if not isinstance(release, ReleasedDensity) or release.dimensions != 2:
        raise ParameterError("--given", "be of a density of two variables", type(release).__name__)
    name, _, value = given.rpartition("=")
    labels = [release._axis_label(axis).partition(" (")[0] for axis in range(2)]
    if name.strip() not in ("", *labels):
        raise ParameterError("--given", f"name one of {labels}", repr(name))
    try:
        place = float(value)
    except ValueError:
        words = "be a value of the first variable, or NAME=VALUE"
        raise ParameterError("--given", words, repr(given), "Example: --given age=40") from None
    return release.conditional(place, labels.index(name.strip()) if name else 0)
