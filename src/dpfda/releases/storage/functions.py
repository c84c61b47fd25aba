"""Released functions as JSON types, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.encoding import (
    array_from_json,
    array_to_json,
    exponent,
    floats,
    integer,
    integers,
    mapping,
)
from dpfda.bases.priors import Hierarchy
from dpfda.noise import achieved_guarantee, law_from_json
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import ApproximateDP, PureDP, within
from dpfda.releases.function import Release, ReleasedFunction
from dpfda.releases.storage.certificates import (
    CERTIFIED,
    certificate_from_json,
    certificate_to_json,
    drawn_laws,
    earlier_sum,
)
from dpfda.releases.storage.parts import (
    basis_from_json,
    divisor_from_json,
    divisor_to_json,
)

FORMAT = "dpfda-release"
SCHEMA_VERSION = CERTIFIED


def to_json(release: ReleasedFunction) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **public_parts(release),
        "order": release.order,
        **numbers(release),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedFunction:
    """Build a release from JSON types."""
    release = ReleasedFunction(**parts_from_json(written, kernel), order=integer(written["order"], 0, 2))
    check_parts(release)
    if release.center.shape != release.grid_points.shape:
        raise ValueError("the center must fit the grid")
    return release


def public_parts(release: Release) -> dict[str, Any]:
    """What a release promises and how it was made."""
    return {**certificate_to_json(release.certificate), "about": dict(release.about)}


def numbers(release: Release) -> dict[str, Any]:
    """What a release consists of."""
    return {
        "noisy_sum": list(release.noisy_sum),
        "exponent": release.exponent,
        "divisor": divisor_to_json(release.divisor),
        "shrinkage": release.shrinkage.tolist(),
        **({} if release.synthesis is None else {"synthesis": array_to_json(release.synthesis)}),
        "center": release.center.tolist(),
        "noise": release.noise.to_json(),
        **({} if release.hierarchy is None else {"hierarchy": release.hierarchy.to_json()}),
        "basis": release.basis.to_json(),
    }


def parts_from_json(
    written: dict[str, Any], kernel: Any = None, certificate: Certificate | None = None
) -> dict[str, Any]:
    """The arguments of a release, from JSON types; the certificate too, where it is not given."""
    noise, divisor = law_from_json(written["noise"]), divisor_from_json(written["divisor"])
    return {
        "basis": basis_from_json(written["basis"], kernel),
        "noisy_sum": integers(written["noisy_sum"]),
        "exponent": exponent(written["exponent"]),
        "divisor": divisor,
        "shrinkage": floats(written["shrinkage"]),
        "center": floats(written["center"]),
        "noise": noise,
        "certificate": certificate
        or certificate_from_json(
            written, partial(earlier_sum, noise, divisor), laws=drawn_laws(noise, divisor)
        ),
        "about": mapping(written["about"]),
        "synthesis": array_from_json(written["synthesis"]) if "synthesis" in written else None,
        "hierarchy": prior_from_json(written["hierarchy"]) if "hierarchy" in written else None,
    }


def prior_from_json(written: Any) -> Hierarchy | CurvePrior:
    """What a release is estimated from, of either kind."""
    made = CurvePrior if "kind" in mapping(written) else Hierarchy
    return made.from_json(written)


def check_parts(release: Release) -> None:
    """Refuse parts that do not fit each other."""
    measured, functions = release.noise.components, len(release.basis.eigenvalues)
    synthesis = (measured, measured) if release.synthesis is None else release.synthesis.shape
    counts = {len(release.noisy_sum), len(release.shrinkage)}
    if counts != {measured} or synthesis != (functions, measured):
        raise ValueError("coefficients, factors, functions and scales differ in number")
    hierarchy = release.hierarchy
    sizes = (measured, functions)
    if isinstance(hierarchy, CurvePrior):
        cells = measured if hierarchy.cells is None else len(hierarchy.cells)
        if hierarchy.lower.shape != release.center.shape or cells != measured:
            raise ValueError("bounds, cells and scales differ in number")
        _check_scales(release, hierarchy)
    elif hierarchy is not None and (hierarchy.measured, hierarchy.prior.components) != sizes:
        raise ValueError("prior and scales differ in number")
    if not release.count > 0:
        raise ValueError("the divisor must be positive")


def _check_scales(release: Release, curves: CurvePrior) -> None:
    """Refuse noise on cells that is too small for its cost: the bounds say how far one unit moves it."""
    if curves.cells is None:
        return
    halves = np.floor(np.ldexp(curves.width / 2, release.exponent)).astype(np.int64)
    sums = np.add.reduceat(halves, np.cumsum((0, *curves.cells[:-1])))
    width = tuple(release.neighbours.differences(size) for size in sums.tolist())
    cost = release.certificate.costs[-1].guarantee
    whole = PureDP(cost.epsilon) if isinstance(cost, ApproximateDP) else cost
    if not within(achieved_guarantee(release.noise, "box", width, whole), cost):
        raise ValueError("the noise is too small for what was charged")
