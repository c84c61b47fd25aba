"""A released reference band: two curves between which a share of new units' whole curves lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bounds.stated import ValueBounds, bound_from_json
from dpfda.numerics.arrays import Flags, Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, OfPoints
from dpfda.releases.facts import Stated
from dpfda.views import Curve, Line


@dataclass(frozen=True, eq=False)
class ReleasedReferenceBand(OfPoints):
    """A band for people, published under differential privacy.

    Of ten new units about nine have their whole curve between `lower` and `upper` (where `coverage` is
    .9). Between grid points both are straight lines. Call it for the curve in the middle.

    Parameters
    ----------
    grid_points : array (m,)
        Public grid.
    domain_range : (a, b)
    centre : array (m,)
        The curve in the middle.
    widths : array (m,)
        Relative half-widths, with a mean of one.
    radius : float
        The band reaches so many widths to either side, up to the public bounds.
    coverage : float
        Share of new units inside, at least.
    size : int
        Number of units.
    certificate : Certificate
    about : mapping
        Labels, date and versions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateReferenceBand
    >>> curves = np.random.default_rng(1).uniform(0.3, 0.7, size=(1000, 1)) + np.zeros(12)
    >>> release = PrivateReferenceBand(1.0, bounds=(0, 1)).fit(curves).release_
    >>> release.contains(np.full((1, 12), 0.5)), release.contains(np.full((1, 12), 0.99))
    (array([ True]), array([False]))
    """

    grid_points: Floats = field(metadata=file.FLOATS.kept)
    domain_range: tuple[float, float] = field(metadata=file.ENDS.kept)
    centre: Floats = field(metadata=file.FLOATS.kept)
    widths: Floats = field(metadata=file.FLOATS.kept)
    radius: float = field(metadata=file.NUMBER.kept)
    coverage: float = field(metadata=file.NUMBER.kept)
    size: int = field(metadata=file.whole_number(2).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-reference-band"
    _CALLED: ClassVar[str] = "released reference band"
    _bands_are: ClassVar[str] = "It is one itself, for curves of new units: see lower(t) and upper(t)."
    _subject = "reference band"

    def __post_init__(self) -> None:
        super().__post_init__()
        same = self.grid_points.shape == self.centre.shape == self.widths.shape
        if not same or self.grid_points.ndim != 1 or np.any(np.diff(self.grid_points) <= 0):
            raise ParameterError("centre", "have one value a grid point, as the widths", "others")
        if not (0 < self.coverage < 1 and self.radius > 0 and np.all(self.widths > 0)):
            raise ParameterError("radius", "be positive, as the widths, and coverage a share", "others")

    def _checked(self) -> None:
        super()._checked()
        names = "units for the centre", "units for the radius", "threshold"
        numbers = [self.certificate.mechanism.get(name) for name in names]
        first, second, threshold = (
            float(number) if isinstance(number, int | float) else nan for number in numbers
        )
        # Noise lowers the threshold, on average by more than it leaves above: so it is larger than this.
        if first + second != self.size or not self.coverage * (second + 1) <= threshold <= second:
            raise ValueError("coverage and units are those of the threshold")

    # The band.

    def _values(self, at: Floats) -> Floats:
        """The curve in the middle."""
        return self._carried(self.centre)(at)

    def lower(self, points: ArrayLike) -> float | Floats:
        """The lower end of the band, in the units of the data.

        Parameters
        ----------
        points : float or array (q,)
            In the domain.

        Returns
        -------
        float or array (q,)
            Where it is the lower bound, values below count as inside.
        """
        return self._at(self._carried(self._ends[0]), points)

    def upper(self, points: ArrayLike) -> float | Floats:
        """The upper end of the band; see `lower`."""
        return self._at(self._carried(self._ends[1]), points)

    def contains(self, curves: ArrayLike) -> Flags:
        """Whether whole curves lie in the band, at all grid points.

        Parameters
        ----------
        curves : array (n, m) or (m,)
            On the grid of the release; values beyond the public bounds count as on them.

        Returns
        -------
        array (n,) of bool
            False where a value is missing.

        Raises
        ------
        ParameterError
            If there is not one value a grid point.
        """
        values = np.atleast_2d(reals(curves, "curves"))
        if values.ndim != 2 or values.shape[1] != self.grid_points.size:
            words = f"have one value at each of the {self.grid_points.size} grid points"
            raise ParameterError("curves", words, f"shape {values.shape}")
        clipped = np.clip(values, *self._bounds)
        lower, upper = self._ends
        return np.asarray(np.all((clipped >= lower) & (clipped <= upper), axis=1))

    def _carried(self, values: Floats) -> Callable[[Floats], Floats]:
        """The function that is linear between values at the points of the grid."""
        return lambda at: np.interp(at, self.grid_points, values)

    @property
    def _bounds(self) -> tuple[Floats, Floats]:
        bound = bound_from_json(self.certificate.bound)
        if not isinstance(bound, ValueBounds):
            raise ParameterError("bound", "be on values", "another")
        return bound.curves_on(self.grid_points)

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        far = self.radius * self.widths
        lower, upper = self._bounds
        # A radius is compared with distances in widths: what is rounded here must not cut them off.
        spare = 4 * np.finfo(float).eps * (np.abs(self.centre) + far)
        return np.maximum(lower, self.centre - far - spare), np.minimum(upper, self.centre + far + spare)

    @property
    def public_units(self) -> int | None:
        return self.size

    # Tables, pictures and words.

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        points, share = at[:, 0], f"{100 * self.coverage:.4g}% of new {several(self.unit)}"
        return {
            "value": (self._values(points), f"middle of the band, {self._value_label}"),
            "lower": (np.asarray(self.lower(points)), f"lower end of the band for {share}"),
            "upper": (np.asarray(self.upper(points)), f"upper end of the band for {share}"),
        }

    def _band_level(self, level: float) -> float:
        return self.coverage

    def _band_words(self, level: float) -> str:
        return f"{100 * self.coverage:.4g}% of new {several(self.unit)} have their whole curve in it"

    def view(self, level: float | None = LEVEL) -> Curve:
        at, (lower, upper) = self.grid_points, self._ends
        words = self._band_words(LEVEL if level is None else level)
        return self._curve([Line(at, self.centre, "middle of the band", lower, upper, words)])

    def _stated(self) -> Stated:
        share, unit = f"{100 * self.coverage:.4g}", self.unit
        lower, upper = self._ends
        typical = number(float(np.mean(upper - lower)))
        return Stated(
            f"A reference band for curves of new {several(unit)}: {share} of 100 of them, at least, "
            "have their whole curve in it.",
            "be compared with any curve",
            public=[f"the share: {share}%"],
            noise=self._made_with(),
            first=[
                f"For a new {unit} that is like those behind this band, the probability that its whole "
                f"curve lies inside is at least {share}%. This counts the noise and the choice of these "
                f"{several(unit)}, and holds whatever the curves look like. It is a statement on "
                "average over such bands: one band may hold somewhat more or fewer.",
                f"Each {unit} with a curve that cannot be used lies in no band, and counted as one "
                "outside: the share is of those that can be used.",
                f"The band is {typical} wide on average, from its lower to its upper end. Values beyond "
                "the public bounds count as on them: where the band ends at a bound, it is open there.",
                f"It does not hold for {several(unit)} of another population or another way of "
                "measuring, and "
                "not between the grid points where curves are rougher than straight lines.",
            ],
            numbers={"coverage": self.coverage, "lower": lower.tolist(), "upper": upper.tolist()},
        )

    def _made_with(self) -> str:
        first, second = (
            self.certificate.mechanism.get(f"units for the {part}") for part in ("centre", "radius")
        )
        return (
            f"{first} {several(self.unit)} chosen at random show where curves lie, {second} others how "
            f"far the band must reach; each part is looked at with noise for {self.guarantee}"
        )

    def _lines(self) -> dict[str, str]:
        lower, upper = self._ends
        return {
            "band": f"holds the whole curve of {100 * self.coverage:.4g} of 100 new "
            f"{several(self.unit)}, at "
            f"least; {number(float(np.mean(upper - lower)))} wide on average"
        }

    @property
    def _headline(self) -> str:
        return f"on [{self.domain_range[0]:g}, {self.domain_range[1]:g}]"
