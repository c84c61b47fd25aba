"""Checks of public arguments, made before a file is read and before noise is drawn."""

from __future__ import annotations

from fractions import Fraction

from dpfda.bases.kernels import KernelFunction, default_kernel, parse_kernel
from dpfda.bounds import Bound, L1Ball, L2Ball, Search, ValueBounds, read_bounds
from dpfda.command.declared import Given
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import exact, whole
from dpfda.privacy.guarantees import Neighbours

CHOICES = (
    "be exactly one of --bounds LO HI, --l2-bound TAU, --l1-bound TAU and --standardize "
    "(which may go with --l1-bound or --l2-bound)"
)


def budget_of(given: Given) -> dict[str, Fraction]:
    """Epsilon, delta and rho as they were given: text is read as the decimal that it is."""
    texts = {name: getattr(given, name, None) for name in ("epsilon", "delta", "rho")}
    return {name: exact(text, name) for name, text in texts.items() if text is not None}


def bound_from(given: Given) -> Bound | Search:
    """The one bound that was given.

    Raises
    ------
    ParameterError
        If there is none or more than one; the message names the choices.
    """
    search = getattr(given, "search", None)
    stated = {
        "--bounds": given.bounds, "--search": search, "--l2-bound": given.l2_bound,
        "--l1-bound": given.l1_bound,
    }  # fmt: skip
    names = [name for name, value in stated.items() if value is not None]
    if len(names) > 1 or (given.standardize and {"--bounds", "--search"} & {*names}):
        found = " and ".join([*names, "--standardize"] if given.standardize else names)
        raise ParameterError("The bound", CHOICES, found, "Leave all but one out.")
    if not names and not given.standardize:
        remedy = "It must come from knowledge of the measurement, never from these data."
        raise ParameterError("The bound", CHOICES, "none", remedy)
    if given.bounds is not None:
        return ValueBounds(*given.bounds)
    if search is not None:
        return Search(*search)
    if given.l1_bound is not None:
        return L1Ball(given.l1_bound)
    standard = given.l2_bound is None
    return read_bounds(None, given.standardize) if standard else L2Ball(given.l2_bound)


def check_size(given: Given) -> None:
    """Check the public number of units, where a verb has one.

    Raises
    ------
    ParameterError
        If it is not positive, or given where the number of units is public anyway.
    """
    size = getattr(given, "public_size", None)
    if size is None:
        return
    if Neighbours.parse(given.neighbours) is Neighbours.REPLACE_ONE:
        raise ParameterError(
            "--public-size",
            "be left out under replace-one neighbours, where the number of units is public",
            size,
            "Add --neighbours add-remove, or leave it out.",
        )
    whole(size, "--public-size", words="be a positive integer")


def kernel_on(text: str | None, domain: tuple[float, float]) -> KernelFunction:
    """The kernel for a domain: the one named, else the default."""
    return default_kernel(domain) if text is None else parse_kernel(text, domain)
