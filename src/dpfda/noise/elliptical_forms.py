"""Multivariate t noise of which only a stated number of linear forms is ever told.

For integers S and noise s V Z on K coefficients (V^2 = nu / chi^2_nu, Z standard normal), any d linear
forms of S + s V Z that are independent are one invertible matrix away from <e_k, S> + s V <e_k, Z> for
orthonormal e_1..e_d: a multivariate t law in d dimensions, whose centre neighbours move by at most
|S - S'|. So the loss is that of `dpfda.noise.elliptical.t_loss` in d dimensions, not in K (Reimherr &
Awan 2019, Corollary 1):

    epsilon = (nu + d) asinh(delta / (2 nu^(1/2))),      delta = width / s.

It bounds the ratio of densities at every point, so the forms may be chosen one at a time, each by the
answers before it: the argument is in the documentation, page "Sessions".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn

import numpy as np

from dpfda.noise.differences import enclosing_width
from dpfda.noise.elliptical import elliptical_noise, t_loss
from dpfda.noise.protocol import AnyNorm, VectorLaw, Width, check_positive, refuse_linf
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.privacy.guarantees import Guarantee, PureDP


@dataclass(frozen=True)
class StudentForms(VectorLaw):
    """t noise s V Z on coefficients, for a number of linear forms that is fixed in advance.

    size: Number K of coefficients.
    scale: Scale s, in grid units.
    degrees: Degrees of freedom nu, at least 3.
    forms: Number d of linearly independent forms that may be told, at most K.
    """

    size: int
    scale: int
    degrees: int
    forms: int
    law: ClassVar[str] = "student-t-forms"

    def __post_init__(self) -> None:
        check_positive("size, scale and forms", (self.size, self.scale, self.forms))
        if self.degrees < 3:
            raise ParameterError("degrees", "be an integer of at least 3", repr(self.degrees))
        if self.forms > self.size:
            raise ParameterError(
                "forms", f"be at most the number of coefficients, {self.size}", repr(self.forms)
            )

    @property
    def components(self) -> int:
        return self.size

    @property
    def scales(self) -> tuple[int, ...]:
        """The scale of every coefficient."""
        return (self.scale,) * self.size

    @property
    def spread(self) -> Fraction:
        """Variance of a component over its squared scale."""
        return Fraction(self.degrees, self.degrees - 2)

    def draw(self) -> NoReturn:
        """Refuse: all coefficients at once would tell more forms than were paid for."""
        raise RefusedMechanismError(
            "mechanism",
            "be asked one functional at a time",
            self.describe(),
            "Its guarantee is for a number of functionals. Use open_session(questions=).",
            "Reimherr & Awan 2019, Corollary 1",
        )

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        mixing = self.degrees / generator.chisquare(self.degrees, size=(draws, 1))
        return np.asarray(self.scale * np.sqrt(mixing) * generator.standard_normal((draws, self.size)))

    def variances(self) -> Floats:
        return np.full(self.size, float(self.scale) ** 2 * float(self.spread))

    def describe(self) -> str:
        return (
            f"multivariate t noise with {self.degrees} degrees of freedom on {self.size} coefficients,"
            f" of which at most {self.forms} functional{'s' * (self.forms > 1)} will be told"
        )

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        refuse_linf(self, norm)
        if not isinstance(requested, PureDP):
            raise RefusedMechanismError(
                "delta",
                "be 0 where the number of functionals is fixed in advance",
                f"{requested}",
                "Gaussian noise answers any number of them with a delta.",
            )
        radius = width if isinstance(width, int) else enclosing_width(norm, width)
        return PureDP(t_loss(self.degrees, self.forms, Fraction(radius, self.scale)))


def student_forms(
    size: int, forms: int, width: int, guarantee: Guarantee, degrees: int | None = None
) -> StudentForms:
    """Scale t noise for a number of linear forms.

    size: Number of coefficients.
    forms: Number of forms; all of them count as `size`.
    width: Distance in the l1 or l2 norm, in grid units, by which neighbouring sums differ.
    degrees: Degrees of freedom; by default forms + 4, about the best: the deviation of a form is then
        about width (forms + 2)^(1/2) / epsilon.
    """
    forms = min(forms, size)
    noise = elliptical_noise(forms, width, guarantee, "student-t", degrees or forms + 4)
    return StudentForms(size, noise.scale, noise.degrees, forms)
