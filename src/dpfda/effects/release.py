"""A released regression of curves: noisy sums at corners of covariates, and coefficient functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self, SupportsFloat

import numpy as np

from dpfda.bases.corners import BASELINE, Corners, place_words, whole_place
from dpfda.bases.grids import check_domain, check_grid, frozen
from dpfda.effects.estimate import VERSION, Effects
from dpfda.noise import AnyNorm, GaussianNoise, NoiseLaw, Width
from dpfda.noise.knorm_shares import InShares
from dpfda.noise.shared import SharedGaussianNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import label
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import first_up
from dpfda.releases import entries as file
from dpfda.releases.bands import (
    BOUNDED,
    STATED,
    Asked,
    Band,
    Limits,
    Variance,
    asked_level,
    each_part,
    sampled,
    settled,
    stated_variance,
)
from dpfda.releases.base import LEVEL, Column, Release, Valued
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import corner_noise_words
from dpfda.releases.words import assumed_words
from dpfda.views import Curve

# How often the default band was seen to hold.
HELD = (
    ". On 34 sets of curves, with smooth and rough effects and such as have the curves' own shapes, it "
    "held in 90 to 99 of 100"
)


def bound_words(bounds: Floats, corners: Corners) -> str:
    """What is bounded, in words."""
    lower, upper = float(bounds[0].min()), float(bounds[1].max())
    return f"values from {lower:g} to {upper:g}; covariates {corners.describe()}"


def corner_differences(noise: NoiseLaw, neighbours: Neighbours, exponent: int) -> tuple[AnyNorm, Width]:
    """How far one unit moves all rows of a table of corners together, as if they were one row.

    A unit's weights of the rows add up to one, in units of 2^-exponent, and no number of its record is
    larger than they are: see `dpfda.publication.tables`.
    """
    width, columns = neighbours.differences(1 << exponent), noise.components
    if isinstance(noise, GaussianNoise | SharedGaussianNoise):
        return "l2", math.isqrt(columns * width**2) + 1
    return "box", (width,) * columns


@dataclass(frozen=True, eq=False)
class ReleasedFunctionalRegression(Valued):
    """Curves explained by covariates: coefficient functions, published with noise.

    ``release["age"]`` is the coefficient function of a covariate, ``release.at(age=40, sex="f")`` the
    mean curve there: releases of this kind themselves, paid for with this one. Called itself it is the
    *baseline*: the curve in the middle of the bounds of all numbers and at the first of all levels.

    Parameters
    ----------
    corners : Corners
        Public covariates.
    noisy_sum : tuple of int
        The mechanism's output, corner by corner.
    noise : NoiseLaw
        Of one corner's numbers.
    exponent : int
        The integers are in units of 2^-exponent of a unit.
    public_size : int or None
        Number of units; None where the noisy one stands for it.
    grid_points : array (m,)
        Public grid that carries the functions, which are linear between.
    domain_range : (float, float)
    bounds : array (2, m)
        Public bounds on the grid.
    cells : tuple of int
        Numbers of grid points whose average was measured.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels of the axes.
    term : str
        Which coefficient it is of; "" for a curve.
    place : mapping
        For a curve: values of covariates; those not named are in the middle.
    version : int, optional
        Of the estimate; None for the first.
    """

    corners: Corners = field(metadata=file.itself(Corners.from_json).named("covariates").kept)
    noisy_sum: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)
    exponent: int = field(metadata=file.EXPONENT.kept)
    public_size: int | None = field(metadata=file.PUBLIC_SIZE.kept)
    grid_points: Floats = field(
        metadata=file.entry(lambda grid: check_grid(floats(grid)), np.ndarray.tolist).kept
    )
    domain_range: tuple[float, float] = field(metadata=file.ENDS.kept)
    bounds: Floats = field(metadata=file.PACKED.kept)
    cells: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    term: str = field(default="", metadata=file.TEXT.kept)
    place: Mapping[str, object] = field(default_factory=dict, metadata=file.MAPPING.kept)
    version: int | None = field(
        default=None, metadata=file.whole_number(2, VERSION).or_absent.named("estimate").kept
    )

    _FORMAT: ClassVar[str] = "dpfda-functional-regression"
    _CALLED: ClassVar[str] = "regression of curves"
    _has_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = 1 + len(self.corners.numbers) + len(self.cells)
        fits = (
            len(self.noisy_sum)
            == self.corners.size * columns
            == self.corners.size * self.noise.components
        )
        if not fits or sum(self.cells) != self.grid_points.size or min(self.cells) < 1:
            raise ParameterError("noisy_sum", "fit corners, cells and noise", f"{len(self.noisy_sum)}")
        if self.bounds.shape != (2, self.grid_points.size) or not np.all(
            self.bounds[0] < self.bounds[1]
        ):
            raise ParameterError("bounds", "be two curves in order on the grid", f"{self.bounds.shape}")
        if self.term:
            label(self.term, "term", self.corners.terms)
        self.corners.point(self.place)

    # Values and bands.

    def __getitem__(self, term: str) -> Self:
        """The coefficient function of a term: a change of one unit of a number, or from the first level.

        Raises
        ------
        ParameterError
            If there is no such term; see `terms`.
        """
        return self._part(label(term, "term", self.terms), {})

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the coefficient functions, the baseline first."""
        return self.corners.terms

    def at(
        self, at: Mapping[str, SupportsFloat | str] | None = None, **values: SupportsFloat | str
    ) -> Self:
        """The mean curve at values of covariates, inside the public bounds of curves.

        Parameters
        ----------
        at : mapping, optional
            Values by name; those not named are in the middle of their bounds, or the first level.
        **values
            The same, as words.

        Raises
        ------
        ParameterError
            If a value is outside the bounds, or no level.
        """
        point = {**(at or {}), **values}
        self.corners.point(point)
        plain = {key: value if isinstance(value, str) else float(value) for key, value in point.items()}
        covariates = {covariate.name: covariate for covariate in self.corners.covariates}
        plain |= {key: str(point[key]) for key in point if covariates[key].bounds is None}
        return self._part("", plain)

    def _part(self, term: str, place: Mapping[str, object]) -> Self:
        part = replace(self, term=term, place=place)
        # Of the same noisy numbers: estimated once.
        vars(part)["_effects"] = self._effects
        return part

    @cached_property
    def _effects(self) -> Effects:
        unit = 2.0**-self.exponent
        table = np.array([float(value) for value in self.noisy_sum]) * unit
        start, end = float(self.grid_points[0]), float(self.grid_points[-1])
        return Effects(
            table.reshape(self.corners.size, -1), self.noise, unit,
            None if self.public_size is None else float(self.public_size), self.corners,
            (self.grid_points - start) / (end - start), self.cells, self.version or 1,
        )  # fmt: skip

    @property
    def is_effect(self) -> bool:
        """Whether it is a change, and no curve between the bounds."""
        return self.term not in ("", BASELINE)

    @property
    def _form(self) -> Floats:
        """What it is of the coefficients (P,), in units of their covariates."""
        if not self.term:
            return self.corners.point(self.place)
        return np.asarray(np.equal(self.terms, self.term) / self.corners.units)

    @property
    def _most(self) -> float:
        """How large it is at most, in half-distances, where curves lie between the bounds."""
        if not self.is_effect:
            return 1.0
        place = self.terms.index(self.term)
        return float((1.0 if place in self.corners.numbers else 2.0) / self.corners.units[place])

    @property
    def _half(self) -> Floats:
        return np.asarray(self.bounds[1] - self.bounds[0]) / 2

    @cached_property
    def _on_grid(self) -> Floats:
        """Values (m,) on the grid."""
        line = self._form @ self._effects.lines
        if self.is_effect:
            return frozen(line * self._half)
        return frozen(self.bounds.mean(axis=0) + np.clip(line, -1.0, 1.0) * self._half)

    def _values(self, at: Floats) -> Floats:
        return np.interp(at, self.grid_points, self._on_grid)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band for what least squares gives without noise: of these records, or of a population.

        Notes
        -----
        Of the sample it is meant to hold what least squares on the same bounded records would have
        given, with the noise in curves and in counts alike, and what cells leave out
        (`dpfda.effects.estimate`); of curves this is cut at their bounds, which least squares may leave.
        Of the noise it is about averages over the cells of that.

        Of the population it is meant to hold that of the population of which the units are a sample,
        where its mean curves are linear in the covariates; the variance is that of a unit's residual,
        the largest at any covariates. With residuals of variance v(t) at most, a combination c of
        coefficients has at most v(t) c' G^-1 c, G the sums of products of the terms, and the band is
        widened as that of a mean (`dpfda.releases.bands`). A unit of several records has the
        average of what they add, whose square is at most their mean square.

        The level is at least .9; how often both hold was measured: docs/appendix/effects.md.
        """
        half = self._half * self._effects.half_widths(
            self._form, self._most, asked.level, asked.simultaneous, asked.of != "noise"
        )
        values, reach = self._values(at), np.interp(at, self.grid_points, half)
        band = Band(at, values - reach, values + reach, asked.level, asked.simultaneous)
        return band if self.is_effect else settled(band, values, self._limits(at))

    def _limits(self, at: Floats) -> Limits:
        lower, upper = (np.interp(at, self.grid_points, end) for end in self.bounds)
        return lower, upper

    def _around_population(self, at: Floats, asked: Asked, variance: Variance | None) -> Band:
        residual = np.interp(at, self.grid_points, self._half) ** 2
        stated = stated_variance(variance, at)
        if stated is not None:
            residual = np.minimum(residual, stated)
        deviation = np.sqrt(residual * self._effects.sampling(self._form, asked.level))
        with asked_level(asked.level):
            band = self._around(at, replace(asked, level=each_part(asked.level), of="sample"))
        cut = None if self.is_effect else self._limits(at)
        widened = sampled(band, self._values(at), deviation, self.grid_points.size, asked.level, cut)
        return replace(widened, covers=BOUNDED if stated is None else STATED)

    @property
    def shown(self) -> dict[str, Self]:
        """What a picture of it shows: the curve at the ends or levels of the first covariate."""
        if self.term or self.place:
            return {self.term or "mean": self}
        first = self.corners.covariates[0]
        ends = first.levels if first.bounds is None else first.bounds
        return {place_words({first.name: end}): self.at({first.name: end}) for end in ends}

    @property
    def count(self) -> float:
        """Number of units: the public one, or the noisy one."""
        return self._effects.count

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        held = super()._entries(written, kernel)
        return held | {"domain_range": check_domain(held["domain_range"], held["grid_points"])}

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(self.bounds, self.corners)}

    def _added_noise(self) -> list[AddedNoise]:
        if self.exponent < 0:
            raise ValueError("sums are in units of at most one")
        law, differences = self.noise, corner_differences(self.noise, self.neighbours, self.exponent)
        if isinstance(law, InShares):
            # Its gap grows with all that is drawn.
            law, (norm, width) = law.times(self.corners.size), differences
            still = (0,) * (law.components - self.noise.components)
            differences = norm, (*width, *still) if isinstance(width, tuple) else width
        return [AddedNoise(law, *differences)]

    # Tables, pictures and words.

    def _functions(self, at: Floats) -> dict[str, Floats]:
        if self.term or self.place:
            return super()._functions(at)
        return {term: np.asarray(self[term](at[:, 0])) for term in self.terms}

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        columns = super()._columns(at, asked)
        for term in () if self.term or self.place else self.terms[1:]:
            part = self[term]
            for name, column in Release._columns(part, at, asked).items():
                columns[term if name == "value" else f"{term}, {name}"] = column
        return columns

    def view(self, level: float | None = LEVEL) -> Curve:
        lines = [part._line(name, level) for name, part in self.shown.items()]
        return self._curve(lines, baseline=0.0 if self.is_effect else None)

    def _panels(self, level: float | None = LEVEL) -> tuple[Curve, ...]:
        """Views of mean curves, and of the coefficient function of each covariate."""
        parts = () if self.term or self.place else [self[term] for term in self.terms[1:]]
        short = [replace(part.view(level), title=first_up(part._subject), subtitle="") for part in parts]
        return (self.view(level), *short)

    @property
    def _subject(self) -> str:
        if self.is_effect:
            return f"coefficient function of {self.term}"
        if self.term:
            return "baseline curve"
        if self.place:
            return f"mean curve at {place_words(self.place)}"
        return f"mean curve by {', '.join(covariate.name for covariate in self.corners.covariates)}"

    @property
    def _value_label(self) -> str:
        if not self.is_effect:
            return super()._value_label
        covariate = next(c for c in self.corners.covariates if self.term in c.terms)
        change = f"from {covariate.levels[0]}" if covariate.levels else f"a unit of {covariate.name}"
        return f"change of {super()._value_label}, {change}"

    def _claims(self) -> tuple[Claim, ...]:
        cut = "" if self.is_effect else ", cut at the bounds"
        same = f"least squares on the same bounded records{cut}"
        people = f"least squares of the population{cut}"
        units, often, seen = self._units_said, "releases of curves like ordinary ones", HELD
        noise = Claim("noise", f"the average over each cell of {same}", units)
        among = Claim("population", people, units, people, among="samples")
        return Claim("sample", same, units, same, among=often, seen=seen), noise, among

    @property
    def _units_said(self) -> str:
        """What widths of a band are in; a band is for the curve at one place."""
        if self.is_effect:
            return self._value_label
        units = f"'{self.about['value']}'" if "value" in self.about else "the data"
        return f"in the units of {units}, at {self._where}"

    @property
    def _where(self) -> str:
        return "" if self.is_effect else whole_place(self.corners.covariates, self.place)

    def _band_facts(self) -> Iterable[BandFact]:
        (own,) = super()._band_facts()
        parts = {} if self.term or self.place else {term: self[term] for term in self.terms[1:]}
        claims = {term: replace(part._claims()[0], name=term) for term, part in parts.items()}
        return [own, *(BandFact.of(claims[term], part, LEVEL) for term, part in parts.items())]

    def _stated(self) -> Stated:
        names = ", ".join(covariate.describe() for covariate in self.corners.covariates)
        shown = f" Shown is the {self._subject}." if self.term or self.place else ""
        return Stated(
            f"How curves over {self._spoken_domain} depend on {names}: a linear model with a "
            f"coefficient function for each, from sums over all {several(self.unit)} at the "
            f"{self.corners.size} corners of the covariates.{shown}",
            public=[f"the grid and the domain: {self._spoken_domain}"],
            noise=corner_noise_words(self.noise, self.corners.size),
            bounded=[
                "Values of curves and of covariates outside their bounds count as the nearest end. The "
                "coefficients are those of the values so cut."
            ],
            first=assumed_words(len(self.cells), int(self.grid_points.size)),
            remarks=[
                "A coefficient is what least squares makes of these records: no statement on causes."
            ],
            numbers={"covariates": self.corners.to_json(), "terms": list(self.terms)},
        )

    def _lines(self) -> dict[str, str]:
        return {"covariates": self.corners.describe(), "cells": f"{len(self.cells)}"}
