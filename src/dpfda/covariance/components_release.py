"""Released functional principal components: eigenfunctions on the whole domain, variances, scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import first_signs
from dpfda.bounds import Bound
from dpfda.bounds.stated import bound_from_json
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping, sequence
from dpfda.numerics.encoding import number as as_number
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals, whole
from dpfda.numerics.words import so_many
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, OnBasis, Release
from dpfda.releases.facts import Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.views import Curve, Line

# Of the largest variance: what rounding leaves of none.
ROUNDING = 1e-12
# Kind of the bound on deviations of single values.
VALUES = "deviations of values"


def stated_deviation(release: Release, mean: ReleasedFunction | None) -> dict[str, object]:
    """The bound on deviations from a center, with the bound on records where there was one.

    Raises
    ------
    ValueError
        If it is another.
    """
    bound, mechanism = release.certificate.bound, release.certificate.mechanism
    if bound["kind"] == VALUES:
        return stated_reach(bound["radius"], bound["records"])
    records = bound["records"]
    radius = as_number(bound["radius"])
    if bound["kind"] != "deviation" or radius <= 0:
        raise ValueError("second moments need a bound on deviations")
    stated = None if records is None else bound_from_json(mapping(records))
    written = deviation_bound(CHOSEN if "choice" in mechanism else "radius", radius, stated)
    if mean is not None and (
        stated is None or mean.certificate.bound != {**mean.certificate.bound, **stated.to_json()}
    ):
        raise ValueError("the mean has another bound than the records")
    return written


# How a radius is called that was paid for.
CHOSEN = "a radius that was chosen privately,"


def deviation_bound(how: str, radius: float, records: Bound | None) -> dict[str, object]:
    """The bound on deviations of such a radius, with the bound on records where there is one."""
    words = f"deviations from the center clipped to the l2 ball of {how} {radius:g}"
    words = words if records is None else f"{records.describe()}; {words}"
    own = None if records is None else records.to_json()
    return {"description": words, "kind": "deviation", "radius": radius, "records": own}


def stated_reach(radius: object, records: object) -> dict[str, object]:
    """The bound on deviations of single values, of curves that were observed at a few times each.

    radius: How far they reach; None where that follows from a released mean.
    records: (lower, upper), of values, or None.
    Raises ValueError if these are no numbers.
    """
    reach = "a reach that follows from the mean" if radius is None else f"{as_number(radius):g}"
    words = f"deviations of values from the center clipped to {reach}"
    if records is not None:
        lower, upper = (as_number(end) for end in sequence(records))
        words, records = f"values between {lower:g} and {upper:g}; {words}", [lower, upper]
    return {"description": words, "kind": VALUES, "radius": radius, "records": records}


@dataclass(frozen=True, eq=False)
class Eigenfunction:
    """One released eigenfunction: evaluate or differentiate it anywhere on the domain.

    Parameters
    ----------
    basis : Basis
    coefficients : array (M,)
        Of length one.
    order : int
        Order of the derivative that this is of the eigenfunction.
    """

    basis: Basis
    coefficients: Floats
    order: int = 0

    @overload
    def __call__(self, points: float) -> float: ...

    @overload
    def __call__(self, points: ArrayLike) -> Floats: ...

    def __call__(self, points: ArrayLike) -> float | Floats:
        """Values at points of the domain, in units of one over the root of the domain's."""
        values = self.basis.evaluate(points, self.order) @ self.coefficients
        return float(values[0]) if np.ndim(points) == 0 else values

    def derivative(self) -> Eigenfunction:
        """The derivative, where the basis functions have one."""
        self.basis.evaluate(self.basis.grid_points[:1], self.order + 1)
        return Eigenfunction(self.basis, self.coefficients, self.order + 1)


@dataclass(frozen=True, eq=False)
class ReleasedComponents(OnBasis):
    """Principal components of curves, published under differential privacy.

    Parameters
    ----------
    basis : Basis
        M orthonormal public functions.
    vectors : array (M, k)
        Coefficients of the eigenfunctions, orthonormal columns.
    variances : array (k,)
        Released variance along each, largest first, never negative: squared units of the data times the
        units of the domain.
    total : float or None
        Released total variance; None where it was not released.
    floor : float or None
        What noise alone stays below with probability 0.95 in an eigenvalue.
    center : array (m,)
        Public curve that scores are counted from, on the grid.
    certificate : Certificate
        Of the whole release, a private center and a released count included.
    about : mapping
    mean : ReleasedFunction or None
        The released mean that is the center, where a share of the budget paid for it.

    Notes
    -----
    Signs are fixed: on the grid, the first value of an eigenfunction that exceeds half of its largest
    size is positive.
    """

    basis: Basis = field(metadata=file.BASIS.kept)
    vectors: Floats = field(metadata=file.FLOATS.kept)
    variances: Floats = field(metadata=file.FLOATS.kept)
    total: float | None = field(metadata=file.NUMBER.or_null.named("total_variance").kept)
    floor: float | None = field(metadata=file.NUMBER.or_null.named("noise_floor").kept)
    center: Floats = field(metadata=file.FLOATS.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    mean: ReleasedFunction | None = field(
        default=None, metadata=file.part(ReleasedFunction).or_null.kept
    )

    _FORMAT: ClassVar[str] = "dpfda-components"
    _CALLED: ClassVar[str] = "dpfda release of components"
    _plural: ClassVar[bool] = True
    _bandless = (
        "how far noise turned a component depends on how far apart the exact variances are; "
        "a covariance has a band, and intervals for its variances"
    )
    _subject = "principal components"
    _value_label = "eigenfunction (unit norm)"

    @property
    def count(self) -> int:
        """Number k of components."""
        return int(self.variances.size)

    @property
    def ratios(self) -> Floats | None:
        """Share (k,) of the released total variance; None where no total was released."""
        if self.total is None:
            return None
        return self.variances / self.total if self.total > 0 else np.zeros(self.count)

    def function(self, index: int) -> Eigenfunction:
        """The eigenfunction of a component, counted from 0."""
        return Eigenfunction(self.basis, self.vectors[:, whole(index, "index", 0, self.count - 1)])

    def __call__(self, points: ArrayLike) -> Floats:
        """Values (k, q) of all eigenfunctions at q points of the domain."""
        return np.asarray((self.basis.evaluate(points) @ self.vectors).T)

    def transform(self, curves: ArrayLike) -> Floats:
        """Scores (n, k) of curves (n, m) on the grid: inner products with the eigenfunctions.

        Scores of private curves are private: use it on public or synthetic ones, or where the scores
        stay with whoever holds the curves.

        Raises
        ------
        ParameterError
            If the curves are not finite or do not fit the grid.
        """
        values = reals(curves, "X")
        if values.ndim != 2:
            raise ParameterError("X", "be a matrix", f"{values.ndim} dimension(s)", "Reshape your data.")
        if values.shape[1] != self.center.size:
            words = f"have one column a grid point ({self.center.size} features)"
            raise ParameterError("X", words, f"shape {values.shape}")
        if not np.all(np.isfinite(values)):
            raise ParameterError("X", "be finite", "NaN or inf")
        return np.asarray((values - self.center) @ self.basis.analysis @ self.vectors)

    def inverse_transform(self, scores: ArrayLike) -> Floats:
        """Curves (n, m) on the grid from scores (n, k): the center plus a sum of eigenfunctions.

        Raises
        ------
        ParameterError
            If there is not one column a component.
        """
        values = np.atleast_2d(reals(scores, "scores"))
        if values.ndim != 2 or values.shape[1] != self.count:
            raise ParameterError("scores", f"have {self.count} columns", f"{values.shape}")
        return np.asarray(self.center + values @ self(self.grid_points))

    def _stated_bound(self) -> dict[str, object]:
        return stated_deviation(self, self.mean)

    def _checked(self) -> None:
        if self.vectors.shape != (self.basis.eigenvalues.size, self.count):
            raise ValueError("vectors, functions and variances differ in number")
        if self.center.shape != self.grid_points.shape:
            raise ValueError("the center must fit the grid")

    # Tables, pictures and words.

    @property
    def public_units(self) -> int | None:
        return known_units(self)

    def _functions(self, at: Floats) -> dict[str, Floats]:
        return {f"component {k + 1}": values for k, values in enumerate(self(at[:, 0]))}

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        return {name: (values, self._value_label) for name, values in self._functions(at).items()}

    def view(self, level: float | None = LEVEL) -> Curve:
        points = np.linspace(*self.domain_range, 401)
        pairs = enumerate(zip(self(points), self._shares(), strict=True))
        return self._curve(
            [
                Line(points, values, f"{k + 1}: {share}", stroke="dashed" if self._noise(k) else "solid")
                for k, (values, share) in pairs
            ],
            baseline=0.0,
        )

    def _noise(self, index: int) -> bool:
        """Whether a variance may be that of noise alone."""
        return self.floor is not None and bool(self.variances[index] <= self.floor)

    def _shares(self) -> list[str]:
        ratios = self.ratios
        return [
            f"variance {value:.3g}"
            + ("" if ratios is None else f" ({ratios[k]:.0%} of what is published)")
            + (", within the noise" if self._noise(k) else "")
            for k, value in enumerate(self.variances)
        ]

    def _stated(self) -> Stated:
        variances = "its variance" if self.count == 1 else "variances"
        what = f"{so_many(self.count, 'principal component')} with {variances},"
        return replace(second_order(self, what, self), first=self._turned())

    def _turned(self) -> list[str]:
        """Which components noise may have turned into one another: none where its size is not told."""
        near = np.flatnonzero(-np.diff(self.variances) < (self.floor or 0.0))
        runs = np.split(near, np.flatnonzero(np.diff(near) > 1) + 1) if near.size else []
        return [
            f"Noise may have turned components {run[0] + 1} to {run[-1] + 2} into one another: their "
            "variances are closer together than it reaches. Read them together, as what curves vary by."
            for run in runs
        ]

    def _lines(self) -> dict[str, str]:
        return {"kernel": self.basis.describe(), "mechanism": str(self.certificate.mechanism["name"])}

    @property
    def _headline(self) -> str:
        return f"of {self.count} {super()._headline}"


def known_units(release: Release) -> int | None:
    """The number of units, where it is public and the release tells it."""
    units = release.about.get("units")
    return units if type(units) is int and release.neighbours is Neighbours.REPLACE_ONE else None


def center_words(release: Release) -> str:
    """What deviations were counted from."""
    return {
        "private": "released with a part of the budget",
        "pairs": "none: differences of pairs of units were used",
        "of the bound": "the middle of the bound",
    }.get(str(release.about.get("center")), "a public curve, which is in the file")


def second_order(release: Release, what: str, components: ReleasedComponents, exact: str = "") -> Stated:
    """What is stated of a covariance, and of its components; `exact` beside the noise floor."""
    stages = zip(release.certificate.stages, release.certificate.costs, strict=True)
    parts = [f"{stage}, {cost.guarantee}" for stage, cost in stages]
    single = len(components.variances) == 1
    listed = ", ".join(f"{value:.3g}" for value in components.variances)
    listed = f"variance{'' if single else 's'} {listed}"
    accurate = ["The release does not say what its noise amounts to."]
    if components.floor is not None:
        above = int(np.sum(components.variances > components.floor))
        accurate = [
            f"In 95 of 100 releases noise alone makes no pattern of variation above "
            f"{number(components.floor)}. "
            f"{_variances_words(components.variances, components.floor)} Where noise is "
            "large, estimate and noise are drawn towards zero together: small numbers are then no "
            "finding.",
            f"Without noise the largest variance of these curves as they were clipped lies {exact}."
            if exact
            else "",
            "The band above allows for what clipping and the choice of functions left out; what is said "
            "of components does not: curves vary more than that, often by a tenth to as much again."
            if any(claim.of == "sample" for claim in release._claims())
            else "This is about the privacy noise. What clipping and the choice of functions left out "
            "was not seen: curves vary more than is published, often by a tenth to as much again, and "
            "many times as much where a few are unlike all others.",
        ]
        listed = f"{above} above the noise floor of {components.floor:.3g}; {listed}"
    timing = (
        "- The time that drawing the directions took: how many draws are rejected depends on the data."
    )
    return Stated(
        f"{what} over {components._spoken_domain}.",
        uses="be evaluated anywhere, drawn and passed on",
        promised=[f"The promise is for all parts together: {'; '.join(parts)}."] if parts[1:] else [],
        public=[
            f"the center: {center_words(release)}",
            f"the functions: the {components.basis.eigenvalues.size} leading ones of the "
            f"{components.basis.describe()}",
        ],
        remarks=accurate,
        uncovered=[timing] if release.certificate.mechanism.get("name") == "exponential" else [],
        numbers={
            "kernel": components.basis.describe(),
            "domain_range": list(components.domain_range),
            "noise_floor": components.floor,
            "components": components.variances.tolist(),
            "total_variance": components.total,
        },
        findings={"components": listed} | ({"largest": f"without noise {exact}"} if exact else {}),
    )


def _variances_words(variances: Floats, floor: float) -> str:
    """Which of the variances lie above the noise floor."""
    above = int(np.sum(variances > floor))
    if len(variances) == 1:
        where = "lies above that" if above else "does not lie above that, and may be noise"
        return f"The released variance, {number(float(variances[0]))}, {where}."
    listed = ", ".join(number(float(value)) for value in variances)
    if above == len(variances):
        return f"The released variances are {listed}; all of them lie above that."
    return (
        f"The released variances are {listed}; "
        f"{above} of them {'lies' if above == 1 else 'lie'} above that, and others may be noise."
    )


def ordered(vectors: Floats, variances: Floats, basis: Basis) -> tuple[Floats, Floats]:
    """Vectors with signs fixed, and variances that are not negative, by decreasing variance."""
    order = np.argsort(-variances, kind="stable")
    # What rounding left of an eigenvalue that was taken off is none.
    least = ROUNDING * np.max(np.abs(variances), initial=0.0)
    return with_signs(vectors[:, order], basis), np.where(variances > least, variances, 0.0)[order]


def with_signs(vectors: Floats, basis: Basis) -> Floats:
    """Turn functions so that their first value on the grid above half of the largest is positive.

    The largest itself would not do: on a symmetric grid an odd function has two of opposite sign.
    """
    signs = first_signs(basis.evaluate(basis.grid_points) @ vectors)
    # In the order of a file that is read, so that products with them have the same last digits.
    return np.ascontiguousarray(vectors * np.where(signs == 0, 1.0, signs))
