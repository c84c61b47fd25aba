"""A released function of several variables: noisy lattice values joined by Bernstein polynomials."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.bernstein import bernstein_values, lattice
from dpfda.bases.grids import check_box_points, frozen, middles, product_points
from dpfda.noise import KNormNoise
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import randomness, rational, readable
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, make_band
from dpfda.releases.base import LEVEL, Banded
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.promise import AddedNoise, certified, sum_costs
from dpfda.views import View
from dpfda.views.shapes import BAND_POINTS, FINE, check_drawn


@dataclass(frozen=True, eq=False)
class LatticeRelease(Banded):
    """A function of d variables published by the Bernstein mechanism.

    Call it at any points of its domain, as often as anyone likes: that is post-processing. It holds
    nothing private. Made by `dpfda.release_function`.

    Parameters
    ----------
    noisy_values : tuple of int
        The mechanism's output: values on the lattice plus noise, (degree + 1)^d of them, the last
        variable running fastest.
    degree : int
        Degree k in each variable.
    domain_range : tuple of (float, float)
        Ends of the domain for each variable.
    exponent : int
        The integers are in units of 2^-exponent of a value.
    scale : int
        Scale of the Laplace noise on each value, in those units.
    sensitivity : Fraction
        The public sup-norm sensitivity that the guarantee rests on; the library has not checked it.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions and date.
    """

    noisy_values: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    degree: int = field(metadata=file.whole_number(1, 1000).kept)
    domain_range: tuple[tuple[float, float], ...] = field(
        metadata=file.entry(lambda ends: tuple((a, b) for a, b in floats(ends).tolist())).kept
    )
    exponent: int = field(metadata=file.EXPONENT.kept)
    scale: int = field(metadata=file.whole_number(1).named("laplace_scale").kept)
    sensitivity: Fraction = field(metadata=file.entry(rational, str).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-lattice-release"
    _CALLED: ClassVar[str] = "dpfda release on a lattice"
    _axis_units: ClassVar[str] = "units of the domain"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.noisy_values) != (self.degree + 1) ** self.dimensions:
            raise ParameterError(
                "noisy_values", f"be {(self.degree + 1) ** self.dimensions}", len(self.noisy_values)
            )

    @property
    def dimensions(self) -> int:
        """Number d of variables."""
        return len(self.domain_range)

    @property
    def noise(self) -> KNormNoise:
        """Law of the noise in `noisy_values`, in grid units."""
        count = len(self.noisy_values)
        return KNormNoise((1,) * count, (self.scale,) * count)

    @cached_property
    def values(self) -> Floats:
        """Noisy values on the lattice, one axis a variable, in the units of the function."""
        flat = [_as_float(value, self.exponent) for value in self.noisy_values]
        return frozen(np.array(flat).reshape((self.degree + 1,) * self.dimensions))

    def __call__(self, points: ArrayLike, order: int | Sequence[int] = 0) -> float | Floats:
        """Values of the function, or of a partial derivative.

        points: array (q, d) or (d,). Points of the domain; for one variable also a number or an array
            (q,).
        order: Order of the derivative in each variable.
        Returns float or array (q,).
        Raises ParameterError if a point is outside the domain, or has another number of coordinates.
        """
        at, single = check_box_points(points, self.domain_range)
        values: Floats | None = None
        for functions in self._axis_functions(at, order):
            if values is None:
                values = np.tensordot(functions, self.values, axes=(1, 0))
            else:
                values = np.einsum("qi...,qi->q...", values, functions)
        return float(np.asarray(values)[0]) if single else np.asarray(values)

    def _axis_functions(self, at: Floats, order: int | Sequence[int] = 0) -> list[Floats]:
        """Polynomials (q, degree + 1) of each variable, differentiated."""
        orders = parameters.orders(order, self.dimensions)
        polynomials = []
        for column, (start, end), power in zip(at.T, self.domain_range, orders, strict=True):
            position = (column - start) / (end - start)
            polynomials.append(bernstein_values(self.degree, position, power) / (end - start) ** power)
        return polynomials

    def integral(self) -> float:
        """Integral over the domain: each polynomial has the same, so it is the volume times the mean."""
        volume = math.prod(end - start for start, end in self.domain_range)
        return float(volume * self.values.mean())

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band for the polynomial that would have been released without noise.

        Notes
        -----
        The exact one is the same: what is published is what was measured.

        The band is about the privacy noise alone, whose law is public. It says nothing of the distance
        between the function and its polynomial of degree k. From 20,000 simulated draws, fewer (at
        least 1000) where many points meet a large lattice.
        """
        functions = np.ones((at.shape[0], 1))
        for axis in self._axis_functions(at):
            functions = (functions[:, :, None] * axis[:, None, :]).reshape(at.shape[0], -1)
        return make_band(np.atleast_1d(self(at)), functions, self._noise_draws, request, at)

    def _noise_draws(self, generator: np.random.Generator, draws: int) -> Floats:
        """Simulated errors (draws, (degree + 1)^d) of the lattice values; only for bands and studies."""
        generator, draws = randomness(generator, "generator"), parameters.draws(draws)
        return np.ldexp(self.noise.simulate(generator, draws), -self.exponent)

    @classmethod
    def _charged(cls, written: Mapping[str, object], parts: file.Held) -> Certificate:
        noise, move = KNormNoise((1,), (parts["scale"],)), readable(parts["sensitivity"])
        described = {"description": stated_by_caller(move)}, {"name": "bernstein"}
        return certified(written, partial(sum_costs, noise, 1.0), lambda: described, [noise])

    def _stated_bound(self) -> dict[str, object]:
        return {"description": stated_by_caller(readable(self.sensitivity))}

    def _added_noise(self) -> list[AddedNoise]:
        return [
            AddedNoise(self.noise, "linf", math.ceil(self.sensitivity * Fraction(2) ** self.exponent))
        ]

    # Tables, pictures and words.

    def _default_points(self) -> Floats:
        return lattice(max(1, round(BAND_POINTS ** (1 / self.dimensions)) - 1), self.domain_range)

    def view(self, level: float | None = LEVEL) -> View:
        if self.dimensions == 1:
            return self._curve([self._line("released function", level)])
        check_drawn(self.dimensions, "Draw its values along two variables.")
        cells = [middles(ends, FINE) for ends in self.domain_range]
        return self._image(np.asarray(self(product_points(cells))).reshape(FINE, FINE), level)

    def _claims(self) -> tuple[Claim, ...]:
        hidden, units = "what would have been published without noise", "in the units of the function"
        return (Claim("noise", hidden, units),)

    def _stated(self) -> Stated:
        domain, move = [list(ends) for ends in self.domain_range], str(self.sensitivity)
        return Stated(
            f"A function over {self._spoken_domain}: values on a lattice, joined by Bernstein "
            f"polynomials of degree {self.degree}.",
            uses="be evaluated at any point, drawn, differentiated, copied and mailed",
            promised=[
                "The promise rests on a sensitivity that the caller stated and that nothing has "
                f"checked: one {self.unit} moves the function by at most {readable(self.sensitivity)} "
                "anywhere."
            ],
            public=["the degree and the domain"],
            noise=f"{self.certificate.mechanism['name']} mechanism, {self.noise.describe()}",
            remarks=[
                f"No band includes how far the function is from its polynomial of degree {self.degree}."
            ],
            numbers={"domain_range": domain, "degree": self.degree, "sensitivity": move},
        )

    @property
    def _headline(self) -> str:
        return f"{super()._headline}, Bernstein polynomials of degree {self.degree}"

    def _lines(self) -> dict[str, str]:
        return {
            "sensitivity": f"{float(self.sensitivity):g}, as stated by the caller, not checked",
            "mechanism": f"bernstein: {self.noise.describe()}",
        }


def stated_by_caller(sensitivity: str) -> str:
    """What the guarantee rests on, in words."""
    return f"sensitivity {sensitivity}, as stated by the caller"


def _as_float(value: int, exponent: int) -> float:
    """Value / 2^exponent, nearest float; the largest float in place of an overflow."""
    try:
        return value / (1 << exponent) if exponent >= 0 else float(value << -exponent)
    except OverflowError:
        return math.copysign(sys.float_info.max, value)
