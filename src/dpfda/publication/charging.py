"""What a release costs, written once: its certificate, and the guarantee of the noise in force."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from functools import cache
from typing import cast

from dpfda.noise import AnyNorm, NoiseLaw, Width, achieved_guarantee
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, achieved_symmetric
from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, within


def certified_entry(
    costs: Mapping[str, Cost], entry: Mapping[str, object], mechanism: Mapping[str, object] | None = None
) -> Certificate:
    """As `certified`, from the public description that goes into the ledger's history."""
    return Certificate.charged(
        costs,
        Neighbours.parse(entry["neighbours"]),
        str(entry["privacy_unit"]),
        {"description": entry["bound"]},
        {"name": entry["mechanism"]} if mechanism is None else mechanism,
    )


def recomputed(
    noise: NoiseLaw | SymmetricNoise, norm: AnyNorm, width: Width | OuterDifference, part: Guarantee
) -> Guarantee:
    """The guarantee of the scales in force, which must not exceed the part of the budget.

    Laws on matrices are held to an `OuterDifference`, which says all norms.

    Raises
    ------
    DpfdaError
        If it does.
    """
    if isinstance(width, OuterDifference):
        achieved = achieved_symmetric(cast("SymmetricNoise", noise), width, part)
    else:
        achieved = achieved_guarantee(cast("NoiseLaw", noise), norm, width, part)
    if not within(achieved, part):
        raise DpfdaError(f"The mechanism's noise gives {achieved}, which is more than {part}.")
    return achieved


def stamp() -> dict[str, object]:
    """Date and versions that a release carries."""
    return {
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": dict(_versions()),
    }


@cache
def _versions() -> dict[str, str]:
    # Looked up once: a search of the file system takes longer than a small release. Slow to load.
    from importlib.metadata import version

    packages = ("dpfda", "numpy", "python-flint")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
