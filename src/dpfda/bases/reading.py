"""Bases and priors of any kind, from what their `to_json` wrote."""

from __future__ import annotations

from typing import Any

from dpfda.bases.bernstein import BernsteinBasis
from dpfda.bases.boxes import BoxBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.closed_form import CLOSED_FORMS
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.image_priors import ImagePrior
from dpfda.bases.kernel import KernelBasis
from dpfda.bases.kronecker import KroneckerBasis
from dpfda.bases.priors import Hierarchy
from dpfda.bases.protocol import Basis, BoxFunctions
from dpfda.numerics.encoding import mapping
from dpfda.numerics.errors import StorageError

_PLAIN: dict[str, Any] = {"Bernstein": BernsteinBasis, "box": BoxBasis, **CLOSED_FORMS}
# Those that hold a kernel, which a file cannot where it is a function of the user's.
_OF_KERNELS: dict[str, Any] = {"kernel": KernelBasis, "kronecker": KroneckerBasis}


def basis_from_json(written: dict[str, Any], kernel: Any = None) -> Basis | BoxFunctions:
    """A basis, by its kind.

    Parameters
    ----------
    written : dict
    kernel : callable, optional
        The kernel, where it is one that the file does not hold.

    Raises
    ------
    StorageError
        If the kind is unknown, or the kernel is not the one that the basis was made with.
    """
    kind = written["kind"]
    if kind == "centred":
        return CentredBasis.from_json(written, interval_basis(written["inner"], kernel))
    if kind in _OF_KERNELS:
        made: Basis = _OF_KERNELS[kind].from_json(written, kernel)
        return made
    if kind not in _PLAIN:
        raise StorageError(f"Unknown kind of basis {kind!r}; update dpfda?")
    plain: Basis = _PLAIN[kind].from_json(written)
    return plain


def interval_basis(written: dict[str, Any], kernel: Any = None) -> Basis:
    """A basis of functions on an interval, by its kind."""
    basis = basis_from_json(written, kernel)
    if isinstance(basis, BoxFunctions):
        raise ValueError("the functions must be on an interval")
    return basis


def prior_from_json(written: Any) -> Hierarchy | CurvePrior | ImagePrior:
    """What a release is estimated from, of any kind."""
    kind = mapping(written).get("kind")
    if kind == ImagePrior.KIND:
        return ImagePrior.from_json(written)
    made = Hierarchy if kind is None else CurvePrior
    return made.from_json(written)
