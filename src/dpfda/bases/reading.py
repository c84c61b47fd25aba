"""Bases and priors of any kind, from what their `to_json` wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfda import bases
from dpfda.bases.grids import check_domain
from dpfda.bases.protocol import Basis, BoxFunctions, on_box
from dpfda.numerics.encoding import mapping, text
from dpfda.numerics.errors import StorageError

if TYPE_CHECKING:
    from dpfda.bases.priors import CurvePrior, Hierarchy, ImagePrior

# Kinds of bases in files; each class is loaded when it is met.
KINDS = {
    "Bernstein": "BernsteinBasis", "box": "BoxBasis", "cosine": "CosineBasis", "sine": "SineBasis",
    "Fourier": "FourierBasis", "Legendre": "LegendreBasis",
}  # fmt: skip
# Those that hold a kernel, which a file cannot where it is a function of the user's.
OF_KERNELS = {"kernel": "KernelBasis", "kronecker": "KroneckerBasis"}


def basis_from_json(written: object, kernel: object = None) -> Basis | BoxFunctions:
    """A basis, by its kind.

    kernel: The kernel, where it is one that the file does not hold.
    Raises StorageError if the kind is unknown, or the kernel is not the one that the basis was made
    with.
    """
    basis = _of_kind(mapping(written), kernel)
    box = on_box(basis)
    domains = basis.domain_range if box else (basis.domain_range,)
    for domain, grid in zip(domains, basis.grid_points if box else (basis.grid_points,), strict=True):
        check_domain(domain, grid)
    return basis


def _of_kind(entries: dict[str, object], kernel: object) -> Basis | BoxFunctions:
    kind = entries["kind"]
    if kind == "centred":
        from dpfda.bases.centred import CentredBasis

        return CentredBasis.from_json(entries, interval_basis(entries["inner"], kernel))
    named = (KINDS | OF_KERNELS).get(text(kind))
    if named is None:
        raise StorageError(f"Unknown kind of basis {kind!r}; update dpfda?")
    family = getattr(bases, named)
    basis: Basis | BoxFunctions = family.from_json(entries, *([kernel] if kind in OF_KERNELS else []))
    return basis


def interval_basis(written: object, kernel: object = None) -> Basis:
    """A basis of functions on an interval, by its kind."""
    basis = basis_from_json(written, kernel)
    if on_box(basis):
        raise ValueError("the functions must be on an interval")
    return basis


def prior_from_json(written: object) -> Hierarchy | CurvePrior | ImagePrior:
    """What a release is estimated from, of any kind."""
    from dpfda.bases.priors import CurvePrior, Hierarchy, ImagePrior

    entries = mapping(written)
    kind = entries.get("kind")
    if kind == ImagePrior.KIND:
        return ImagePrior.from_json(entries)
    return Hierarchy.from_json(entries) if kind is None else CurvePrior.from_json(entries)
