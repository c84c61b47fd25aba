"""The public choices that estimators share, checked in one place before any record is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

from dpfda.bases import Basis, KernelBasis
from dpfda.bases.kernels import with_cycles
from dpfda.bases.protocol import on_box
from dpfda.bounds import Bound, L2Ball, ValueBounds, read_bounds
from dpfda.mechanisms.design import Shape
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import DataError, InPython, ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication import MeanPlan
from dpfda.spine.embedding import embedding_of
from dpfda.spine.estimator import Estimator
from dpfda.spine.settings import PrivacyUnit, Settings

_BASIS = ("weights", "eigenvalues", "evaluate", "truncate", "describe", "to_json")


def check_choices(estimator: Estimator) -> Guarantee:
    """Check an estimator's epsilon, delta, unit and the like.

    Returns the one that is asked for.
    Raises ParameterError if one cannot be used. Nothing was read, charged or drawn.
    """
    guarantee = estimator.asked()
    settings, _ = estimator.settings, estimator._paying()
    if embedding_of(settings.reading) is not None and not estimator._embeds:
        words = "be that of the summary, which is no mean of what is embedded"
        remedy = "Derive from PrivateMean or another mean of curves."
        raise ParameterError("embed", words, f"one of {type(estimator).__name__}", remedy)
    if settings.domain.step is not None and not estimator._stepped:
        words = "be $none but for densities, quantiles and survival"
        raise ParameterError("step", words, shown(settings.domain.step))
    if settings.domain.atoms and not estimator._atomic:
        raise ParameterError("atoms", "be $none but for densities", shown(settings.domain.atoms))
    check_basis(getattr(estimator, "basis", None))
    return guarantee


def check_basis(basis: object) -> None:
    """Check that a basis is one, or a kernel or the words for one.

    Raises ParameterError if it is something else.
    """
    if not (basis is None or is_basis(basis) or isinstance(basis, str) or callable(basis)):
        raise ParameterError(
            "basis",
            "be a basis, such as CosineBasis.on_grid(...), a kernel, words such as 'matern:10%:1.5', "
            "or None",
            shown(basis),
        )


def check_interval(basis: object, summary: str, remedy: str) -> None:
    """Refuse functions on boxes, for a summary of curves. Raises ParameterError if they are."""
    if on_box(basis):
        words = f"be of curves on an interval, for {summary}"
        raise ParameterError("basis", words, type(basis).__name__, remedy)


def value_bounds(bounds: object, summary: str) -> ValueBounds:
    """The public bounds on values. Raises ParameterError if they are of another kind."""
    if bounds is None:
        words = "Pass $bounds in the units of the data, from knowledge of the measurement"
        raise ParameterError("bounds", "be given", "None", f"{words} and never from these data.")
    stated = read_bounds(bounds, False)
    if not isinstance(stated, ValueBounds):
        words = f"be (lower, upper) for {summary}"
        raise ParameterError("bounds", words, shown(stated), "Give bounds on values.")
    return stated


def public_size(unit: PrivacyUnit, count: int, invalid: str = "refuse") -> int | None:
    """The public number of units, or divisor; None where there is none.

    count: How many there are: public under replace-one neighbours, else private.
    invalid: As in `dpfda.Reading`.
    Raises ParameterError if a public size is given where the number of units is public anyway. Raises
    DataError if there are fewer than two.
    """
    stated = unit.public_size
    neighbours = unit.relation
    if neighbours is Neighbours.REPLACE_ONE and stated is not None:
        words = "be $none under replace-one neighbours, where the number of units is public"
        remedy = "Give $neighbours, or leave it out."
        raise ParameterError("public_size", words, shown(stated), remedy, neighbours="add-remove")
    check_count(neighbours, count, invalid)
    if neighbours is Neighbours.REPLACE_ONE:
        return count
    return None if stated is None else whole(stated, "public_size", words="be a positive integer")


def sizes_for(settings: Settings, count: int, planned: bool) -> tuple[int | None, int | None]:
    """How many units count in what is released, if that is public, and the size that cells are for.

    Where records may be left out it is private how many count, whatever their number: a sum that is
    taken to be of all of them would spread what is missing over the others.

    count: How many units there are, or are planned.
    planned: Whether `count` is a plan's, public wherever a size was stated.
    Raises ParameterError or DataError as `public_size` does.
    """
    designed = public_size(settings.unit, count, settings.reading.invalid)
    designed = count if planned and designed is not None else designed
    every = not settings.unit.private and settings.reading.invalid == "refuse"
    return (designed if every else None), designed


def stated_size(designed: int | None, parameter: str) -> int:
    """The public size that a parameter, such as a number of cells, is chosen for.

    Raises ParameterError if there is none.
    """
    if designed is None:
        words = "be given under add/remove neighbours, where the number of units is private"
        remedy = "Or give public_size, a public number such as the size planned."
        raise ParameterError(parameter, words, "None", remedy)
    return designed


def check_count(neighbours: Neighbours, count: int, invalid: str = "refuse") -> None:
    """Refuse fewer than two units, but where that is private and errors are not to tell it.

    Raises DataError if there are fewer.
    """
    if neighbours is Neighbours.REPLACE_ONE and count < 2:
        raise DataError(
            f"There must be at least two privacy units; found {count}$samples.",
            samples=InPython(f" ({count} sample(s), n_samples = {count})"),
        )
    if neighbours is Neighbours.ADD_REMOVE and count < 2 and invalid == "refuse":
        raise DataError(
            "There must be at least two privacy units; found one sample or none. "
            "This check is outside the privacy guarantee."
        )


def check_groups(sizes: Mapping[str, int | Fraction]) -> None:
    """Refuse groups of fewer than two units, by name: how many each has is public.

    sizes: Fractions where units count for less; then there may be fewer than two.

    Raises DataError if there is one.
    """
    for name, size in sizes.items():
        if size == 0 or (isinstance(size, int) and size < 2):
            raise DataError(
                f"The group {name!r} must have at least two units; found {size or 'none'}. Join it with "
                "another group, or leave it and its records out."
            )


def is_basis(basis: object) -> TypeGuard[Basis]:
    """Whether functions are given, rather than a kernel whose eigenfunctions are taken."""
    return not isinstance(basis, type) and all(hasattr(basis, name) for name in _BASIS)


def in_cycles(settings: Settings, basis: Basis, bound: Bound) -> tuple[Settings, Basis]:
    """Known cycles in the functions themselves, for the default ones of records in an L2 ball."""
    domain = settings.domain
    if not (domain.periods and isinstance(bound, L2Ball) and isinstance(basis, KernelBasis)):
        return settings, basis
    ends = basis.domain_range
    cyclic = KernelBasis.on_grid(
        with_cycles(ends, domain.periods), basis.grid_points, ends, domain.quadrature
    )
    return replace(settings, domain=replace(domain, periods=None)), cyclic


def mean_plan(
    guarantee: Guarantee,
    settings: Settings,
    basis: Basis,
    bound: Bound,
    size: int | None,
    unit: str,
    mechanism: object = "auto",
    centers: Floats | None = None,
    expected_size: int | None = None,
) -> MeanPlan:
    """The plan of a mean; parameters as in `MeanPlan`."""
    about = {
        "summary": "mean curve",
        "standardized": settings.reading.standardize,
        **settings.said(boxes=True),
    }
    plan = MeanPlan.of(
        basis, bound, guarantee, settings.unit.relation, mechanism, size, unit, about,
        shape=Shape(centers, settings.domain.finest, tuple(settings.domain.periods or ())),
        reading=settings.reading, expected_size=expected_size,
    )  # fmt: skip
    prior = None if centers is None else f"{len(centers)} curve(s)"
    stated = {
        "finest": settings.domain.finest,
        "periods": settings.domain.periods or None,
        "prior": prior,
    }
    for name, value in stated.items():
        if value is not None and not plan.answers_with_line:
            words = "be $none but for the default mean of curves between bounds"
            remedy = "Give $bounds and no basis or mechanism of your own."
            raise ParameterError(name, words, str(value), remedy)
    return plan
