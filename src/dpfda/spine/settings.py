"""Parameters that belong together: the domain, who is protected, and how records are read.

Each is a frozen object of public choices, checked when it is made. An estimator takes one of them or, in
its place, what is stated most often: ``domain=(0, 24)`` its ends, ``unit="person"`` a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import box_domain
from dpfda.bases.grids import check_domain, check_grid, frozen, quadrature_weights
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import (
    choice,
    entries,
    flag,
    length,
    plain_words,
    real,
    reals,
    shown,
    whole,
)
from dpfda.privacy.guarantees import Neighbours


@dataclass(frozen=True, repr=False, eq=False)
class Gathered:
    """Parameters in one frozen object, which scikit-learn can read, clone and search over."""

    shorthand: ClassVar[str] = ""

    @classmethod
    def of(cls, value: object) -> Self:
        """Read a parameter: the object, its shorthand, or None for the defaults.

        Raises
        ------
        ParameterError
            If it is something else.
        """
        return value if isinstance(value, cls) else cls(**({} if value is None else cls.short(value)))

    @classmethod
    def short(cls, value: object) -> dict[str, object]:
        """The field that the shorthand stands for."""
        return {cls.shorthand: value}

    def but(self, **changed: object) -> Self:
        """The same with other fields.

        Raises
        ------
        ParameterError
            If there is no such field, or its value is unusable.
        """
        names = [field.name for field in fields(self)]
        for name in changed:
            if name not in names:
                words = f"be one of {', '.join(names)}"
                raise ParameterError(f"A parameter of {type(self).__name__}", words, repr(name))
        return replace(self, **changed)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The fields by name, as scikit-learn asks for parameters."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __sklearn_clone__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __repr__(self) -> str:
        other = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if not _same(getattr(self, field.name), field.default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in other.items())})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(value, other.get_params()[name]) for name, value in self.get_params().items())

    __hash__ = None  # type: ignore[assignment]

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, repr=False, eq=False)
class Domain(Gathered):
    """Where the functions live: an interval or a box with its grid, its integrals and its words. Public.

    Parameters
    ----------
    grid_points : array (m,), optional
        Public grid. By default the numeric column labels of the data, else equally spaced points.
    domain_range : (float, float) or d pairs, optional
        Ends of the domain; by default those of the grid, or (0, 1) without one. Densities, quantiles
        and follow-ups need one of the two: the span of the data is private.
    quadrature : {"trapezoid", "uniform"} or array (m,)
        Weights of the grid points in integrals.
    labels : mapping, optional
        Public words for the release and its plots, with units: "domain" (also "domain_2" and "domain_3"
        on boxes) and "value"; of a comparison also "group", what the groups are.
    finest : float, optional
        The finest detail of the mean that matters, in units of the axis: a public statement, for curves
        between bounds. Cells are half as long at most, however small the budget.
    periods : list of float, optional
        Lengths of known cycles, in units of the axis, such as [7] for a week in daily data: public, for
        means of curves between bounds, or in an L2 ball. Cells are a quarter as long at most, and the
        mean may repeat; in a ball the functions do.
    step : float, optional
        What values are apart, from one end of the domain to the other: 1 for ages in whole years or
        times in whole days, say. Public; for densities, quantiles and survival, whose cells and points
        then lie as the values do. A density is then of probabilities of values. Events of follow-ups
        at the first time count at the next: for times from 0 on, begin a step before.
    atoms : list of float, optional
        Values that many units have exactly, such as [0] for none or a filled-in 99: public, for the
        density on an interval, which counts each by itself. The density is of the others then.

    Examples
    --------
    >>> Domain((0, 6, 12, 18, 24), labels={"domain": "hour of the day"})
    Domain(grid_points=5 numbers, labels={'domain': 'hour of the day'})
    """

    grid_points: ArrayLike | None = None
    domain_range: object = None
    quadrature: ArrayLike = "trapezoid"
    labels: Mapping[str, str] | None = None
    finest: float | None = None
    periods: Sequence[float] | None = None
    step: float | None = None
    atoms: Sequence[float] | None = None
    shorthand: ClassVar[str] = "domain_range"

    def __post_init__(self) -> None:
        grid = None if self.grid_points is None else check_grid(self.grid_points)
        ends = None if self.domain_range is None else _ends(self.domain_range)
        if grid is not None and (ends is None or not isinstance(ends[0], tuple)):
            quadrature_weights(self.quadrature, grid, check_domain(ends, grid))
        rule = _rule(self.quadrature)
        labels = None if self.labels is None else read_labels(self.labels, boxes=True)
        finest = None if self.finest is None else _length(self.finest, "finest")
        periods = None if self.periods is None else _lengths(self.periods)
        self._set(grid_points=grid, domain_range=ends, quadrature=rule, labels=labels)
        step = None if self.step is None else length(self.step, "step")
        atoms = None if self.atoms is None else _increasing(self.atoms)
        self._set(finest=finest, periods=periods, step=step, atoms=atoms)

    @classmethod
    def short(cls, value: object) -> dict[str, object]:
        """The ends of the domain."""
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
            words = "be the ends (a, b), a Domain or None"
            raise ParameterError("domain", words, shown(value), "A grid: Domain(grid_points=...).")
        return {"domain_range": value}

    @property
    def ends(self) -> object:
        """Ends of the domain as they were stated, or those of a stated grid."""
        if self.domain_range is not None or self.grid_points is None:
            return self.domain_range
        grid = np.asarray(self.grid_points)
        return float(grid[0]), float(grid[-1])


@dataclass(frozen=True, repr=False, eq=False)
class PrivacyUnit(Gathered):
    """Who is protected, against which change of the data, and how many of them there are. Public.

    Parameters
    ----------
    name : str, optional
        What to call the privacy unit in the release; "record" or "group" by default.
    neighbours : {"replace-one", "add-remove"}
        Replace one unit, their number being public; or add or remove one, their number being private.
    public_size : int, optional
        Under add/remove only: a public number to divide by, such as the size planned (in a comparison
        also a mapping, one a group). Without it a tenth of epsilon is spent on releasing the count; by
        default a mean's sums over cells then get noise in one with it. A density divides by the noisy
        count all the same, and chooses its cells or bandwidth by this number.
    design_size : int, optional
        Of a comparison alone: public number of units that noise and shrinkage are tuned for, the same
        for all groups, because means that are shrunk differently would differ where the data do not. By
        default the size of the smallest group where sizes are public, else 100.

    Examples
    --------
    >>> PrivacyUnit("person", "add-remove")
    PrivacyUnit(name='person', neighbours='add-remove')
    """

    name: str | None = None
    neighbours: str = "replace-one"
    public_size: object = None
    design_size: int | None = None
    shorthand: ClassVar[str] = "name"

    def __post_init__(self) -> None:
        if not (self.name is None or (isinstance(self.name, str) and self.name)):
            raise ParameterError("unit", "be a word for who is protected, or None", shown(self.name))
        if self.name is not None:
            plain_words(self.name, "unit")
        relation, sizes = Neighbours.parse(self.neighbours), self.public_size
        for size in sizes.values() if isinstance(sizes, Mapping) else [sizes]:
            _positive(size, "public_size")
        if self.design_size is not None:
            whole(self.design_size, "design_size", words="be $none or a positive integer")
        self._set(neighbours=str(relation))

    @property
    def relation(self) -> Neighbours:
        """Which data sets are neighbours."""
        return Neighbours.parse(self.neighbours)

    @property
    def private(self) -> bool:
        """Whether the number of units is private."""
        return self.relation is Neighbours.ADD_REMOVE

    def called(self, groups: object) -> str:
        """Who is protected: as named, or records, or what they are grouped by."""
        return self.name or ("record" if groups is None else "group")


@dataclass(frozen=True, repr=False, eq=False)
class Reading(Gathered):
    """How records are read, each by itself. Public.

    Parameters
    ----------
    missing : {"refuse", "complete", "pooled"}
        Raise on missing values, or interpolate within the record; or, for a mean, pool what was
        observed (`dpfda.spine.pooled_curves`), which is also how a mean of observations (id, time,
        value) is made unless "complete" is asked for.
    invalid : {"refuse", "repair"}
        Raise on unusable records (outside the guarantee: an error tells something), or replace each by
        a fixed public element (the bound's center; for a kernel machine a record without features and
        with target 0), or leave it out (points, follow-ups): what is released is of the others then.
    nugget : float
        For irregular curves: public noise variance relative to that of the curves.
    standardize : bool
        Take each curve minus its own mean, over its own L2 norm. The l2 bound 1 then holds by
        construction and is the default.

    Examples
    --------
    >>> Reading(missing="complete")
    Reading(missing='complete')
    """

    missing: str = "refuse"
    invalid: str = "refuse"
    nugget: float = 0.01
    standardize: bool = False

    def __post_init__(self) -> None:
        choice(self.missing, "missing", ("refuse", "complete", "pooled"))
        choice(self.invalid, "invalid", ("refuse", "repair"))
        real(self.nugget, "nugget", 0.0, 1e100)
        self._set(standardize=flag(self.standardize, "standardize"))

    @property
    def rules(self) -> list[object]:
        """What of it decides which integers a record becomes, as JSON types."""
        return [self.missing, self.invalid, self.standardize]

    @classmethod
    def short(cls, value: object) -> dict[str, object]:
        """There is no shorthand."""
        raise ParameterError("reading", "be a Reading or None", shown(value), "Reading(missing=...).")


@dataclass(frozen=True)
class Settings:
    """What an estimator was given of domain, unit and reading, as objects."""

    domain: Domain
    unit: PrivacyUnit
    reading: Reading

    def said(self, boxes: bool = False) -> dict[str, str]:
        """Labels of axes and values, and that gaps within records are filled."""
        filled = {"missing": "complete"} if self.reading.missing == "complete" else {}
        return filled | read_labels(self.domain.labels, boxes)


def _ends(stated: object) -> tuple[float, float] | tuple[tuple[float, float], ...]:
    """One pair of ends, or one a variable."""
    box = box_domain(stated)
    nested = any(isinstance(part, list | tuple | np.ndarray) for part in entries(stated))
    return box if nested else box[0]


def _rule(stated: object) -> str | Floats:
    words = "be 'trapezoid', 'uniform' or an array of weights"
    if isinstance(stated, str):
        if stated not in ("trapezoid", "uniform"):
            raise ParameterError("quadrature", words, repr(stated))
        return stated
    try:
        return frozen(reals(stated, "quadrature"))
    except ParameterError:
        raise ParameterError("quadrature", words, shown(stated)) from None


def _length(value: object, name: str) -> float:
    return real(value, name, 1e-100, 1e100, "be a positive length, in units of the axis")


def _lengths(value: object) -> tuple[float, ...]:
    try:
        return tuple(_length(period, "periods") for period in entries(value))
    except TypeError:
        words = "be a list of lengths in units of the axis"
        raise ParameterError("periods", words, shown(value), "Example: periods=[7]") from None


def _increasing(values: object) -> tuple[float, ...]:
    words = "be different numbers, in units of the axis"
    try:
        atoms = sorted(real(atom, "atoms", -1e100, 1e100, words) for atom in entries(values))
    except TypeError:
        raise ParameterError("atoms", words, shown(values), "Example: atoms=[0]") from None
    if len(set(atoms)) < len(atoms):
        raise ParameterError("atoms", words, shown(values))
    return tuple(atoms)


def _positive(value: object, name: str) -> None:
    if value is not None:
        whole(value, name, words="be a positive integer")


def _same(first: object, other: object) -> bool:
    if first is other or first is None or other is None:
        return first is other
    if isinstance(first, np.ndarray) and isinstance(other, np.ndarray):
        return type(first) is type(other) and np.array_equal(first, other)
    return not isinstance(first, np.ndarray) and not isinstance(other, np.ndarray) and first == other


def _short(value: object) -> str:
    return f"{value.size} numbers" if isinstance(value, np.ndarray) else repr(value)


def read_labels(labels: object, boxes: bool = False) -> dict[str, str]:
    """Read the `labels` argument of an estimator.

    Parameters
    ----------
    labels : mapping or None
        Words by key. Public.
    boxes : bool
        Whether there may be a second and a third variable.

    Raises
    ------
    ParameterError
        If a key is none of those that releases know.
    """
    if not (labels is None or isinstance(labels, Mapping)):
        raise ParameterError("labels", "be a mapping such as {'domain': 'hour'}, or None", shown(labels))
    words = {} if labels is None else dict(labels)
    more = {"domain_2", "domain_3"} if boxes else set()
    if not set(words) <= {"domain", "value", "group"} | more:
        also = " (on boxes also 'domain_2' and 'domain_3')" if boxes else ""
        raise ParameterError("labels", f"have the keys 'domain' and 'value'{also}", shown(list(words)))
    return {key: plain_words(text, "labels") for key, text in words.items()}
