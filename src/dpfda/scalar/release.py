"""The released regression of a number on a curve: coefficient function, its band, and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.corners import Covariate
from dpfda.numerics import encoding
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, known, reals
from dpfda.numerics.specials import normal_quantile
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.words import number
from dpfda.records.covariates import columns_named
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, check_level
from dpfda.releases.base import LEVEL, Valued
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.moments import Moments, OfMoments
from dpfda.scalar.estimate import Explained, cautious, explained
from dpfda.spine.memberships import read_covariates
from dpfda.views import Curve

# Draws of the posterior that simultaneous bands are made of, from a fixed key.
DRAWS = 4000
# What intervals are for.
OF = ("number", "mean")
# How often the band for 95% was seen to hold.
SEEN = ". On 7 sets of curves it held all of it in 90 to 100 of 100, of 1,000 units or more at epsilon 1"
# Where predictions vary by no more than so many times their error nothing stands out.
CLEAR = 1.5
NOTHING = (
    "What was found is no larger than noise and chance make it: predictions may be worse than one "
    "number for all, and the share that is said to be explained means little."
)

ASSUMED = (
    "It is assumed that the coefficient function shows no detail finer than one of {count} parts of the "
    "domain. Bands miss narrower waves, spikes and steps, and nothing tells of them."
)


def bound_words(bounds: Floats, target: tuple[float, float], covariates: tuple[Covariate, ...]) -> str:
    """What is bounded, in words."""
    more = f"; covariates {describe(covariates)}" if covariates else ""
    ends = f"curves from {bounds[0].min():g} to {bounds[1].max():g}"
    return f"{ends}; target from {target[0]:g} to {target[1]:g}{more}"


def describe(covariates: tuple[Covariate, ...]) -> str:
    """Covariates with their bounds, in words."""
    return ", ".join(covariate.describe() for covariate in covariates)


def _covariates(written: object) -> tuple[Covariate, ...]:
    covariates = []
    for entry in map(encoding.mapping, encoding.sequence(written)):
        low, high = encoding.floats(entry["bounds"]).tolist()
        covariates.append(Covariate(encoding.name(entry["name"]), (low, high)))
    return tuple(covariates)


@dataclass(frozen=True, eq=False)
class ReleasedScalarOnFunction(Valued, OfMoments):
    """A number explained by a curve: y = a + integral of beta(t) x(t) dt + covariates + residual.

    Called at points it is the coefficient function beta; `predict` takes new curves.

    Parameters
    ----------
    moments : Moments
        The mechanism's output, for coefficients of curves, covariates and target.
    basis : Basis
        Public functions that curves were reduced to.
    bounds : array (2, m)
        Public bounds of curves on the grid.
    target : (float, float)
        Public bounds of the number.
    covariates : tuple of Covariate
        Numbers beside the curve, with public bounds.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels.
    """

    moments: Moments = field(metadata=file.itself(Moments.from_json).kept)
    basis: Basis = field(metadata=file.BASIS.kept)
    bounds: Floats = field(metadata=file.PACKED.kept)
    target: tuple[float, float] = field(metadata=file.ENDS.kept)
    covariates: tuple[Covariate, ...] = field(
        metadata=file.entry(
            _covariates,
            lambda covariates: [{"name": e.name, "bounds": list(known(e.bounds))} for e in covariates],
        ).kept
    )
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-scalar-on-function"
    _CALLED: ClassVar[str] = "regression on curves"
    _has_exact: ClassVar[bool] = False
    _subject = "coefficient function"

    def __post_init__(self) -> None:
        super().__post_init__()
        beside = len(self.covariates)
        blocks = (self._count, *([beside] if beside else []), 1)
        many = self._count > self.basis.eigenvalues.size
        if self.moments.blocks != blocks or many or not self.moments.steps:
            raise ParameterError("moments", f"have blocks {blocks}", f"{self.moments.blocks}")
        if not self.target[0] < self.target[1]:
            raise ParameterError("target", "be in order", f"{self.target}")

    # The model.

    @cached_property
    def _model(self) -> Explained:
        return explained(self.moments, self.basis.eigenvalues[: self._count])

    @cached_property
    def _distances(self) -> tuple[Floats, Floats]:
        """Squared distances of coefficients, for bands and intervals; of functions beyond, for bands."""
        return cautious(self.moments, self.basis.eigenvalues, self._model)

    @property
    def _half(self) -> float:
        return (self.target[1] - self.target[0]) / 2

    @property
    def _count(self) -> int:
        """Number of functions that were measured; the basis may have more."""
        return self.moments.blocks[0]

    def coefficient(self, points: ArrayLike) -> Floats:
        """The coefficient function beta at points: as calling the release itself.

        It is in units of the target, per unit of the curve and of the domain.

        Raises
        ------
        ParameterError
            If a point is outside the domain.
        """
        return np.asarray(self(points))

    def _values(self, at: Floats) -> Floats:
        return self._half * (
            self.basis.evaluate(at)[:, : self._count] @ self._model.coefficients[: self._count]
        )

    @property
    def effects(self) -> dict[str, tuple[float, float]]:
        """Of each covariate by name: change of the target a unit, and its posterior deviation."""
        own = slice(self._count, None)
        units = [(term.bounds[1] - term.bounds[0]) / 2 for term in self.covariates if term.bounds]
        scale = self._half / np.array(units)
        spread = np.sqrt(np.maximum(np.diag(self._model.covariance)[own], 0))
        named = zip(self.covariates, scale * self._model.coefficients[own], scale * spread, strict=True)
        return {term.name: (float(value), float(deviation)) for term, value, deviation in named}

    @property
    def intercept(self) -> float:
        """The number a of the model: predicted for a curve, and covariates, that are zero.

        Far from what was seen, where those are; a prediction within the bounds is not cut here.
        """
        zero = np.zeros((1, self.grid_points.size))
        beside = [
            np.array([-sum(e.bounds) / (e.bounds[1] - e.bounds[0])]) for e in self.covariates if e.bounds
        ]
        return float(self._answered(self._vectors(zero, beside))[0])

    @property
    def explained(self) -> float:
        """Share of the target's variance that the model explains, as the noisy moments say."""
        return 1 - self._model.residual / self._model.variance

    def predict(self, X: ArrayLike, Z: object = None) -> Floats:
        """Predictions for new curves, between the bounds of the target.

        Parameters
        ----------
        X : array (q, m)
            Curves on the grid of the release, in the units of the data; clipped to the bounds.
        Z : array (q, r), DataFrame, mapping from name to column; optional
            Covariates, where the model has some.

        Returns
        -------
        array (q,)
            In units of the target.

        Raises
        ------
        ParameterError, DataError
            If they have another shape, or are not finite.
        """
        return np.clip(self._answered(self._vectors(*self._new(X, Z))), *self.target)

    def interval(
        self, X: ArrayLike, Z: object = None, level: float = LEVEL, of: str = "number"
    ) -> tuple[Floats, Floats]:
        """Intervals for new curves, one by one, between the bounds of the target.

        They are of a posterior, and not proved, as the band; the residual is taken to be about normal.

        Parameters
        ----------
        X, Z
            As of `predict`.
        level : float
            Probability of each interval.
        of : {"number", "mean"}
            Whether it is for the number of one with such a curve, or for the mean of all of these.

        Returns
        -------
        lower, upper : array (q,)

        Raises
        ------
        ParameterError, DataError
            As `predict`, or if the level is not between 0 and 1.
        """
        residual = self._model.residual * (choice(of, "of", OF) == "number")
        far = float(normal_quantile(np.array(1 + check_level(level, False)) / 2))
        vectors = self._vectors(*self._new(X, Z))
        around = np.sum((vectors @ self._distances[0]) * vectors, axis=1)
        centre = self.moments.centre_power(np.append(-self._model.coefficients, 1.0))
        power = around + centre + self._model.residual / self.moments.size + residual
        middle, reach = self._answered(vectors), far * self._half * np.sqrt(power)
        return np.clip(middle - reach, *self.target), np.clip(middle + reach, *self.target)

    def _new(self, X: ArrayLike, Z: object) -> tuple[Floats, list[Floats]]:
        """Curves within their bounds, and covariates."""
        curves = reals(X, "X")
        if curves.ndim != 2 or curves.shape[1] != self.grid_points.size:
            words = f"have a curve a row, on the grid of {self.grid_points.size} points"
            raise ParameterError("X", words, f"shape {curves.shape}")
        beside: list[Floats] = []
        if self.covariates:
            columns = columns_named(Z, [covariate.name for covariate in self.covariates])
            beside = list(read_covariates(self.covariates, {}, columns, len(curves), "refuse")[0])
        elif Z is not None:
            raise ParameterError("Z", "be None, for a model without covariates", "others")
        return np.clip(curves, *self.bounds), beside

    def _vectors(self, curves: Floats, beside: list[Floats]) -> Floats:
        rows = (curves - self.bounds.mean(axis=0)) @ self.basis.analysis[:, : self._count]
        return np.column_stack([rows, *beside]) - self.moments.centre[:-1]

    def _answered(self, vectors: Floats) -> Floats:
        scaled = self.moments.centre[-1] + vectors @ self._model.coefficients
        return np.asarray(sum(self.target) / 2 + self._half * scaled)

    # Its band.

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band for the coefficient function of the population, as far as it lies in these functions.

        Notes
        -----
        Of a cautious posterior (`dpfda.scalar.estimate`): of sampling, noise and prior together, over
        priors weighed by their evidence. It is no proof: how often it held is measured,
        docs/scalar_on_function.md. Where curves do not vary the prior speaks alone, and a rough
        coefficient function is not in it.
        """
        functions = self._half * self.basis.evaluate(at)
        own, beyond = self._distances
        measured, further = np.split(functions, [self._count], axis=1)
        values, vectors = np.linalg.eigh(own[: self._count, : self._count])
        near = measured @ (vectors * np.sqrt(np.maximum(values, 0)))
        root = np.hstack([near, further * np.sqrt(beyond)])
        deviations = np.sqrt(np.sum(root**2, axis=1))
        reach = deviations * normal_quantile((1 + request.level) / 2)
        if request.simultaneous:
            generator = np.random.Generator(np.random.Philox(key=41))
            drawn = np.abs(generator.standard_normal((DRAWS, root.shape[1])) @ root.T)
            furthest = (drawn / np.maximum(deviations, np.finfo(float).tiny)).max(axis=1)
            reach = deviations * float(np.quantile(furthest, request.level, method="higher"))
        line = self._values(at)
        return Band(at, line - reach, line + reach, request.level, request.simultaneous)

    # Its file.

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(self.bounds, self.target, self.covariates)}

    # Words and pictures.

    @property
    def _value_label(self) -> str:
        return f"change of {super()._value_label}, per unit of the curve and of the domain"

    def view(self, level: float | None = LEVEL) -> Curve:
        return self._curve([self._line("coefficient function", level)], baseline=0.0)

    def _claims(self) -> tuple[Claim, ...]:
        what = "the coefficient function of the population, where it is smooth"
        legend = "that of the population"
        return (Claim("population", what, self._value_label, legend, among="samples", seen=SEEN),)

    def _stated(self) -> Stated:
        words = describe(self.covariates)
        beside = f" Beside the curve: {words}." if words else ""
        assumed = ASSUMED.format(count=self.basis.eigenvalues.size)
        return Stated(
            f"How a number between {number(self.target[0])} and {number(self.target[1])} goes with a "
            f"curve over {self._spoken_domain}. The coefficient function says how much larger the "
            "number is, all else being equal, where a curve is one higher over one unit of the axis."
            f"{beside} It explains about "
            f"{number(100 * self.explained)} per cent of the number's variance.",
            public=[f"the grid and the domain: {self._spoken_domain}", *self._divided],
            noise=self.moments.laws[-1].describe(),
            bounded=["Values outside their bounds count as the nearest end."],
            first=[*([] if self._stands_out else [NOTHING]), assumed],
            remarks=["A coefficient is what goes with what in these data: no statement on causes."],
            numbers={
                "explained": self.explained, "intercept": self.intercept,
                "effects": {name: list(pair) for name, pair in self.effects.items()},
            },
        )  # fmt: skip

    @property
    def _stands_out(self) -> bool:
        """Whether predictions vary by more than their error, both about the mean of the number."""
        model, second = self._model, self.moments.matrix[:-1, :-1]
        varied = float(model.coefficients @ second @ model.coefficients)
        return varied > CLEAR * float(np.sum(model.covariance * second))

    def _lines(self) -> dict[str, str]:
        beside = "" if self._stands_out else ", no larger than noise may make it"
        lines = {"explains": f"{100 * self.explained:.0f} per cent of the variance{beside}"}
        for name, (value, deviation) in self.effects.items():
            lines[name] = f"{number(value)} a unit, give or take {number(deviation)}"
        return lines
