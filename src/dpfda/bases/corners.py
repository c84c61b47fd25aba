"""Covariates with public bounds or levels, and the corners of the box that they span.

A number x with bounds a, b is u = (2 x - a - b) / (b - a), clipped to [-1, 1]; it lies between the ends
-1 and 1 with weights (1 - u) / 2 and (1 + u) / 2. A label is wholly at its level. A corner is one end
or level of each covariate, and its weight the product: not negative, in all one. Any function that is
linear in each covariate by itself is, at every point, its average over the corners under these weights:
so the terms z = (1, u or indicators of all levels but the first, ...) of a linear model are, and the
products of terms of different covariates. A square is not: 1 - u^2 is kept beside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import floats, mapping, name, sequence
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import LARGEST, real, shown

# Noise on a coefficient grows with the root of the number of corners.
MOST = 64
BASELINE = "baseline"


@dataclass(frozen=True)
class Covariate:
    """A covariate with public bounds, or public levels.

    bounds: (float, float).
    levels: None for a number.
    """

    name: str
    bounds: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words = "have a lower end below its upper end, or levels"
        if self.bounds is None:
            fits = len(self.levels) >= 2
        else:
            fits = bool(-LARGEST <= self.bounds[0] < self.bounds[1] <= LARGEST) and not self.levels
        if not fits:
            remedy = "Swap the ends?" if self.bounds else ""
            stated = shown(self.bounds or self.levels)
            raise ParameterError(f"covariates[{self.name!r}]", words, stated, remedy)

    @property
    def ends(self) -> int:
        """How many ends or levels it has."""
        return len(self.levels) or 2

    @property
    def half(self) -> float:
        """Half the distance between the bounds."""
        return 1.0 if self.bounds is None else (self.bounds[1] - self.bounds[0]) / 2

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of its terms: its own, or one for each level but the first."""
        return tuple(f"{self.name}={level}" for level in self.levels[1:]) or (self.name,)

    def at(self, value: object) -> Floats:
        """Its terms at a value, which is public.

        Raises ParameterError if the value is outside the bounds, or no level.
        """
        if self.bounds is not None:
            low, high = self.bounds
            number = real(value, self.name, low, high, f"be a number from {low:g} to {high:g}")
            return np.array([(2 * number - low - high) / (high - low)])
        if str(value) not in self.levels:
            raise ParameterError(self.name, f"be one of {', '.join(self.levels)}", shown(value))
        return np.equal(self.levels[1:], str(value)).astype(np.float64)

    def describe(self) -> str:
        """In words."""
        if self.bounds is None:
            return f"{self.name} ({', '.join(self.levels)})"
        return f"{self.name} from {self.bounds[0]:g} to {self.bounds[1]:g}"

    def to_json(self) -> dict[str, object]:
        """As JSON types."""
        limits = {"levels": [*self.levels]} if self.bounds is None else {"bounds": [*self.bounds]}
        return {"name": self.name, **limits}


def place_words(place: Mapping[str, object]) -> str:
    """Values of covariates in words."""
    values = {key: value if isinstance(value, str) else f"{value:g}" for key, value in place.items()}
    return ", ".join(f"{key} {value}" for key, value in values.items())


def whole_place(covariates: Iterable[Covariate], place: Mapping[str, object]) -> str:
    """The same of all covariates: those not named are in the middle, or at the first level."""
    middle = {
        variable.name: variable.levels[0] if variable.bounds is None else sum(variable.bounds) / 2
        for variable in covariates
    }
    return place_words(middle | dict(place))


@dataclass(frozen=True)
class Covariates:
    """Covariates, and the terms that they have in a linear model. Public."""

    covariates: tuple[Covariate, ...]

    def __post_init__(self) -> None:
        names = [BASELINE, *(term for covariate in self.covariates for term in covariate.terms)]
        if not self.covariates or len({*names}) < len(names):
            raise ParameterError("covariates", "be one or more, with different names", shown(names[1:]))

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the P terms of the linear model, the baseline first."""
        return (BASELINE, *(term for covariate in self.covariates for term in covariate.terms))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Places, among terms, of covariates that are numbers."""
        places, place = [], 1
        for covariate in self.covariates:
            if covariate.bounds is not None:
                places.append(place)
            place += len(covariate.terms)
        return tuple(places)

    @cached_property
    def units(self) -> Floats:
        """By what a term's coefficient is divided for one unit of its covariate (P,)."""
        halves = [covariate.half for covariate in self.covariates for _ in covariate.terms]
        return frozen(np.array([1.0, *halves]))

    def point(self, at: Mapping[str, object]) -> Floats:
        """Terms (P,) at values of covariates; those not named are in the middle, or at the first level.

        Raises ParameterError if a name or value is unknown.
        """
        names = {covariate.name for covariate in self.covariates}
        if not isinstance(at, Mapping) or not {*at} <= names:
            raise ParameterError("at", f"give values of {', '.join(sorted(names))}", shown(at))
        middle = [
            covariate.at(at[covariate.name]) if covariate.name in at else np.zeros(len(covariate.terms))
            for covariate in self.covariates
        ]
        return np.concatenate([[1.0], *middle])

    def describe(self) -> str:
        """In words."""
        return "; ".join(covariate.describe() for covariate in self.covariates)

    def to_json(self) -> list[dict[str, object]]:
        """As JSON types."""
        return [covariate.to_json() for covariate in self.covariates]

    @classmethod
    def from_json(cls, written: object) -> Self:
        """Build them again."""
        covariates = []
        for entry in map(mapping, sequence(written)):
            bounds = tuple(floats(entry["bounds"]).tolist()) if "bounds" in entry else None
            levels = tuple(name(level) for level in sequence(entry.get("levels", [])))
            covariates.append(Covariate(name(entry["name"]), bounds, levels))
        return cls(tuple(covariates))


@dataclass(frozen=True)
class Corners(Covariates):
    """The corners between which every point of the covariates lies. Public."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size > MOST:
            words = f"have at most {MOST} combinations of ends and levels"
            remedy = "Each doubles or multiplies the noise: leave some out, or join levels."
            raise ParameterError("covariates", words, f"{self.size}", remedy)

    @property
    def size(self) -> int:
        """Number R of corners."""
        return int(np.prod([covariate.ends for covariate in self.covariates]))

    @cached_property
    def design(self) -> Floats:
        """Terms (R, P) at the corners."""
        parts = []
        for covariate in self.covariates:
            if covariate.bounds is not None:
                parts.append(np.array([[-1.0], [1.0]]))
            else:
                parts.append(np.eye(covariate.ends)[:, 1:])
        rows = [np.concatenate([[1.0], *rows]) for rows in itertools.product(*parts)]
        return frozen(np.array(rows))
