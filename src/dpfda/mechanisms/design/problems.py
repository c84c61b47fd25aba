"""The public problem of a mean: basis, bound, number of units, guarantee, and what is believed."""

from __future__ import annotations

import numpy as np

from dpfda.bases import Basis, BernsteinBasis, KernelBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.kernels import default_kernel
from dpfda.bases.matern import matern_terms
from dpfda.bases.priors import SCALES, Prior, normalized, public_shapes
from dpfda.bounds import Bound, BoxBound, Ellipsoid, ValueBounds
from dpfda.mechanisms import AdaptingMechanism, read_mechanism
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.remembered import remembered
from dpfda.privacy.guarantees import Guarantee, Neighbours

# Shorter grids have no cells to speak of.
FEWEST = 3


@remembered(16)
def public_curves(basis: Basis, bound: Bound) -> CurvePrior | None:
    """What the default mean of curves between bounds is estimated from; None for anything else.

    As for `public_mixture`, a kernel of one's own says how rough the mean may be. Centred functions say
    that their level is not of interest.
    """
    if (
        type(bound) is not ValueBounds
        or not _of_default_kernel(basis)
        or basis.grid_points.size < FEWEST
    ):
        return None
    return CurvePrior(*bound.curves_on(basis.grid_points))


@remembered(16)
def public_mixture(basis: Basis, norm: str) -> Prior | None:
    """The public mixture of shapes and scales, for a basis of the default kernel; None for others.

    Whoever names a kernel says how rough the mean may be; whoever does not says nothing.

    norm: Of the ball that records lie in; shapes fill a ball of radius one.
    """
    inner = basis.inner if isinstance(basis, CentredBasis) else basis
    if norm not in ("l1", "l2") or not _of_default_kernel(inner):
        return None
    return Prior.of(normalized(public_shapes(basis.eigenvalues.size), norm), np.array(SCALES))


def _of_default_kernel(basis: Basis) -> bool:
    if not isinstance(basis, KernelBasis):
        return False
    return matern_terms(basis.kernel) == default_kernel(basis.domain_range).terms


def adapted(
    mechanism: object,
    basis: Basis,
    bound: Bound,
    size: int | None,
    guarantee: Guarantee,
    neighbours: Neighbours,
) -> tuple[Basis, Bound]:
    """The basis and the bound that a mechanism works with: the given ones, unless it replaces them.

    Raises ParameterError if the mechanism cannot use them: coefficients that are lattice values are for
    those alone that ask for them.
    """
    if isinstance(bound, BoxBound | Ellipsoid):
        bound = bound.on_basis(basis.eigenvalues)
    if not (isinstance(mechanism, str) and mechanism == "auto"):
        made = read_mechanism(mechanism)
        if isinstance(made, AdaptingMechanism):
            return made.adapt(basis, bound, size, guarantee, neighbours)
    if isinstance(basis, BernsteinBasis) or bound.norm == "linf":
        found = basis.describe() if isinstance(basis, BernsteinBasis) else type(bound).__name__
        raise ParameterError(
            "mechanism",
            "be 'bernstein' for lattice values",
            f"{mechanism!r} with {found}",
            "Other mechanisms want orthonormal functions: use a kernel or a cosine basis with bounds"
            " (lower, upper).",
        )
    return basis, bound
