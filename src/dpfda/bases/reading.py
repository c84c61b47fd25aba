"""Bases and priors of any kind, from what their `to_json` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dpfda.bases.bernstein import BernsteinBasis
from dpfda.bases.boxes import BoxBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.closed_form import CLOSED_FORMS
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.grids import check_domain
from dpfda.bases.image_priors import ImagePrior
from dpfda.bases.kernel import KernelBasis
from dpfda.bases.kronecker import KroneckerBasis
from dpfda.bases.priors import Hierarchy
from dpfda.bases.protocol import Basis, BoxFunctions
from dpfda.numerics.encoding import mapping, text
from dpfda.numerics.errors import StorageError


class _Kind(Protocol):
    """A kind of basis that its entries alone make again."""

    def from_json(self, written: dict[str, object], /) -> Basis | BoxFunctions: ...


class _KindOfKernel(Protocol):
    """A kind of basis that may need its kernel as well."""

    def from_json(
        self, written: dict[str, object], kernel: object = None, /
    ) -> Basis | BoxFunctions: ...


_PLAIN: Mapping[str, _Kind] = {"Bernstein": BernsteinBasis, "box": BoxBasis, **CLOSED_FORMS}
# Those that hold a kernel, which a file cannot where it is a function of the user's.
_OF_KERNELS: Mapping[str, _KindOfKernel] = {"kernel": KernelBasis, "kronecker": KroneckerBasis}


def basis_from_json(written: object, kernel: object = None) -> Basis | BoxFunctions:
    """A basis, by its kind.

    kernel: The kernel, where it is one that the file does not hold.
    Raises StorageError if the kind is unknown, or the kernel is not the one that the basis was made
    with.
    """
    basis = _of_kind(mapping(written), kernel)
    box = isinstance(basis, BoxFunctions)
    domains = basis.domain_range if box else (basis.domain_range,)
    for domain, grid in zip(domains, basis.grid_points if box else (basis.grid_points,), strict=True):
        check_domain(domain, grid)
    return basis


def _of_kind(entries: dict[str, object], kernel: object) -> Basis | BoxFunctions:
    kind = entries["kind"]
    if kind == "centred":
        return CentredBasis.from_json(entries, interval_basis(entries["inner"], kernel))
    if kind in _OF_KERNELS:
        return _OF_KERNELS[text(kind)].from_json(entries, kernel)
    if kind not in _PLAIN:
        raise StorageError(f"Unknown kind of basis {kind!r}; update dpfda?")
    return _PLAIN[text(kind)].from_json(entries)


def interval_basis(written: object, kernel: object = None) -> Basis:
    """A basis of functions on an interval, by its kind."""
    basis = basis_from_json(written, kernel)
    if isinstance(basis, BoxFunctions):
        raise ValueError("the functions must be on an interval")
    return basis


def prior_from_json(written: object) -> Hierarchy | CurvePrior | ImagePrior:
    """What a release is estimated from, of any kind."""
    entries = mapping(written)
    kind = entries.get("kind")
    if kind == ImagePrior.KIND:
        return ImagePrior.from_json(entries)
    return Hierarchy.from_json(entries) if kind is None else CurvePrior.from_json(entries)
