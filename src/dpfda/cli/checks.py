"""Checks of public arguments, made before a file is read and before noise is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.bases import KernelBasis
from dpfda.bases.grids import check_domain, equally_spaced
from dpfda.bases.kernels import default_kernel, parse_kernel
from dpfda.bounds import Bound, L1Ball, L2Ball, ValueBounds, read_bounds
from dpfda.errors import ParameterError
from dpfda.guarantees import ApproximateDP, Neighbours, PureDP, guarantee_for
from dpfda.mechanisms import read_mechanism
from dpfda.publication import Request

# A trial design needs a grid and, under replace-one neighbours, a size; refusals depend on neither.
TRIAL_POINTS = 64
TRIAL_SIZE = 1000

CHOICES = (
    "be exactly one of --bounds LO HI, --l2-bound TAU, --l1-bound TAU and --standardize "
    "(which may go with --l1-bound or --l2-bound)"
)


@dataclass(frozen=True)
class PublicSide:
    """The public arguments of a release, checked.

    Parameters
    ----------
    guarantee : PureDP or ApproximateDP
    neighbours : Neighbours
    bound : Bound
    standardize : bool
    kernel : str or None
        As text, because a range in per cent awaits the domain.
    domain : (float, float) or None
        None where it is that of the file's header.
    mechanism : str
    public_size : int or None
    """

    guarantee: PureDP | ApproximateDP
    neighbours: Neighbours
    bound: Bound
    standardize: bool
    kernel: str | None
    domain: tuple[float, float] | None
    mechanism: str
    public_size: int | None


def check_public(
    epsilon: str,
    delta: str,
    neighbours: str,
    bound: Bound,
    standardize: bool,
    kernel: str | None,
    domain: tuple[float, float] | None,
    mechanism: str,
    public_size: int | None,
) -> PublicSide:
    """Check the public arguments of a release together, by a trial design without data.

    Raises
    ------
    ParameterError
        If one cannot be used, or the mechanism cannot give the guarantee.
    """
    relation = Neighbours.parse(neighbours)
    checked = PublicSide(
        guarantee=_guarantee(epsilon, delta),
        neighbours=relation,
        bound=bound,
        standardize=standardize,
        kernel=kernel,
        domain=None if domain is None else check_domain(domain),
        mechanism=mechanism,
        public_size=_public_size(public_size, relation),
    )
    _try(checked)
    return checked


def bound_from(
    bounds: tuple[float, float] | None,
    l2_bound: float | None,
    l1_bound: float | None,
    standardize: bool,
) -> Bound:
    """The one bound that was given.

    Raises
    ------
    ParameterError
        If there is none or more than one; the message names the choices.
    """
    given: dict[str, Any] = {"--bounds": bounds, "--l2-bound": l2_bound, "--l1-bound": l1_bound}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1 or (standardize and bounds is not None):
        found = " and ".join([*names, "--standardize"] if standardize else names)
        raise ParameterError("The bound", CHOICES, found, "Leave all but one out.")
    if not names and not standardize:
        remedy = "It must come from knowledge of the measurement, never from these data."
        raise ParameterError("The bound", CHOICES, "none", remedy)
    if bounds is not None:
        return ValueBounds(*bounds)
    if l1_bound is not None:
        return L1Ball(l1_bound)
    return read_bounds(None, standardize) if l2_bound is None else L2Ball(l2_bound)


def kernel_warning(kernel: Any, grid_points: Any, domain: tuple[float, float]) -> str | None:
    """Warn where the kernel's range is below the spacing of the grid; public numbers only."""
    spacing = float(np.median(np.diff(grid_points)))
    reach = getattr(kernel, "length_scale", np.inf)
    if not reach < spacing:
        return None
    tenth = (domain[1] - domain[0]) / 10
    return (
        f"the kernel's range ({reach:g}) is below the spacing of the grid ({spacing:g}), so that "
        "neighbouring points are taken to be unrelated and noise is hardly smoothed. A range is in "
        "units of the domain or a percentage of its length: matern:10%:1.5 means ten per cent of the "
        f"domain, here {tenth:g}."
    )


def kernel_on(text: str | None, domain: tuple[float, float]) -> Any:
    """The kernel for a domain: the one named, else the default."""
    return default_kernel(domain) if text is None else parse_kernel(text, domain)


def _guarantee(epsilon: str, delta: str) -> PureDP | ApproximateDP:
    guarantee = guarantee_for(epsilon, delta)
    for name, text in (("epsilon", epsilon), ("delta", delta)):
        # Beyond these an exact number has no float for the design to work with.
        if not 1e-300 < getattr(guarantee, name, 1) < 1e300:
            raise ParameterError(name, "lie between 1e-300 and 1e300", repr(text))
    return guarantee


def _public_size(size: int | None, neighbours: Neighbours) -> int | None:
    if size is None:
        return None
    if neighbours is Neighbours.REPLACE_ONE:
        raise ParameterError(
            "--public-size",
            "be left out under replace-one neighbours, where the number of units is public",
            size,
            "Add --neighbours add-remove, or leave it out.",
        )
    if size < 1:
        raise ParameterError("--public-size", "be a positive integer", size)
    return size


def _try(public: PublicSide) -> None:
    """Design the noise for a grid of our own, so that a refusal comes before the file is read."""
    if public.mechanism != "auto":
        read_mechanism(public.mechanism)
    kernel = kernel_on(public.kernel, public.domain or (0.0, 1.0))
    # Without a domain a range in units of the header's numbers needs a domain that fits it.
    reach = 0.1 if public.kernel is None else float(kernel.length_scale)
    domain = public.domain or (0.0, 10.0 * reach)
    size = public.public_size
    if size is None and public.neighbours is Neighbours.REPLACE_ONE:
        size = TRIAL_SIZE
    basis = KernelBasis.on_grid(kernel, equally_spaced(TRIAL_POINTS, domain), domain)
    request = Request(
        basis, public.bound, public.guarantee, public.neighbours, public.mechanism, size, "record", {}
    )
    # Also where the radius of the bound is found to be finite.
    request.components()
