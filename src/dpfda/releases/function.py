"""The released function, and what releases of several functions, as of disjoint groups, share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from dpfda.bases.kernels import short_range
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import label
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate, said_by
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import first_up
from dpfda.releases import bands
from dpfda.releases.bands import Asked, Band, Variance
from dpfda.releases.base import LEVEL, OfPoints, Release
from dpfda.releases.expansion import noise_draws
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.lines import PROVED, WIGGLES, MeanLine, line_claim, misfit, posterior_claim, verdict
from dpfda.releases.words import per_axis
from dpfda.views import Curve

if TYPE_CHECKING:
    from dpfda.releases.combined import Averaged, CombinedMean

Kind = TypeVar("Kind", bound="ReleasedFunction")
Part = TypeVar("Part", bound=OfPoints)


@dataclass(frozen=True, eq=False)
class ReleasedFunction(MeanLine):
    """A function on an interval, published under differential privacy.

    Call it at any points of its domain, as often as anyone likes: evaluating, differentiating,
    integrating, plotting and saving are post-processing and cost no privacy. It holds nothing
    private: no records, no sum without noise, no count unless the count is public.

    Parameters
    ----------
    order : int
        Order of the derivative that this function is of the release. The others: see `Expansion`.
    """

    _FORMAT: ClassVar[str] = "dpfda-release"
    _CALLED: ClassVar[str] = "released function"

    def combined(self, other: Averaged, apart: bool = False) -> CombinedMean:
        """One mean from this release and another of it.

        Both are public, so it costs nothing. It is for a mean that is the same in both, such as last
        year's and this year's, or two hospitals'. Grids, numbers of units and budgets may differ. What
        it returns has the method too: `a.combined(b).combined(c)`. Default lines between bounds are one
        measurement, which is smoothed once (`jointly`); others are averaged by their precision.

        Parameters
        ----------
        other : ReleasedFunction, ReleasedPooledMean or CombinedMean
            On the same domain, of the same units, from another charge.
        apart : bool
            Whether no unit has records in both, as where each is a patient of one hospital alone. Then
            the guarantee is the weaker of the two; by default what both cost adds up.

        Raises
        ------
        ParameterError
            If it is not, or their guarantees do not add up.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfda import PrivateMean
        >>> mean = PrivateMean(1.0, bounds=(0, 1))
        >>> old, new = (mean.fit(np.full((n, 12), 0.4)).release_ for n in (200, 800))
        >>> both = old.combined(new)
        >>> both.jointly, str(both.guarantee)
        (True, '2-differential privacy (pure)')
        >>> print(old.combined(new, apart=True).guarantee)
        1-differential privacy (pure)
        """
        from dpfda.releases.combined import CombinedMean

        return CombinedMean.of(self, other, apart)

    def _as(self, kind: type[Kind], **more: object) -> Kind:
        """The same as another kind of mean curve, with what that has beside or in its place."""
        own = {field.name: getattr(self, field.name) for field in fields(ReleasedFunction)}
        return kind(**own | more)

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band around the released function.

        Notes
        -----
        Of the sample, for the default line of curves between bounds: meant to hold the mean of the
        clipped records itself, everywhere on the grid at once, and cut at the public bounds. The noise
        is known exactly, how the mean wiggles between cells is assumed; levels from .9. How often it
        holds has been measured: `dpfda.estimates.widths`. Where there is a public prior of coefficients
        it is about their posterior: given the release it holds the clipped mean's part with that
        probability, for means as the prior has them.

        Of the noise it holds by the law of the noise alone, whatever the data: it covers what a linear
        estimate of what was measured would be without noise, around `unshrunk`; it is widened where the
        function leaves it and cut at public bounds, but where the exact one is asked for.

        Of the population it is meant to hold the mean of clipped records there: the band by default,
        with the error of sampling (`dpfda.releases.bands`). `Band.covers` says with which
        variance. Of the function itself, not of its derivatives. No band says anything of the bias of
        clipping.

        Where the count is released with noise of its own, the error of their ratio depends on the
        exact values, and the released ones stand in for them: the level for the noise is then
        approximate. At level 0.9 and epsilon = 1 the measured coverage was 0.97 to 0.99 for 10 to 40
        units, 0.92 to 0.93 for 300 and 0.90 for 2000.
        """
        if request.of == "sample" and self._is_line:
            return self._mean_band(request, at)
        functions = self.basis.evaluate(at, self.order)
        if request.of == "sample":
            line = self._unclipped(at, self.order)
            generator = np.random.Generator(np.random.Philox(key=0))
            drawn = self._posterior.draws(self._measured, generator, bands.DRAWS)
            sizes = np.abs((drawn - self.coefficients) @ functions.T)
            band = bands.band_from_errors(line, sizes, request.level, request.simultaneous, at)
        else:
            source = self.unshrunk
            line = source._unclipped(at, self.order)
            band = bands.make_band(line, functions, partial(noise_draws, source), request, at)
        return band if request.exact else self._settled(band)

    def _around_population(self, at: Floats, request: Asked, variance: Variance | None) -> Band:
        usual = replace(request, of=self._claims()[0].of, level=bands.each_part(request.level))
        with bands.asked_level(request.level):
            # A kind with a wider band for the sample widens the population's itself.
            band = ReleasedFunction._around(self, at, usual)
        places = self.grid_points.size
        limits = self._limits_at(at)
        return bands.for_population(band, self(at), limits, variance, self.count, places, request.level)

    # Its file.

    def _center_fits(self) -> bool:
        return self.center.shape == self.grid_points.shape

    # Tables, pictures and words.

    def view(self, level: float | None = LEVEL) -> Curve:
        return self._curve([self._line("released function", level)])

    @property
    def _subject(self) -> str:
        own = super()._subject
        which = "derivative" if self.order == 1 else f"derivative (of order {self.order})"
        return f"{which} of the {own}" if self.order else own

    @property
    def _value_label(self) -> str:
        own = super()._value_label
        return f"derivative of {own}, {per_axis(self.about, self.order)}" if self.order else own

    @property
    def _value_words(self) -> str:
        own = super()._value_words
        return f"{own}, {per_axis(self.about, self.order)}" if self.order else own

    def _claims(self) -> tuple[Claim, ...]:
        cut, units = self._limits is not None and not self.order, self._value_words
        noise = Claim("noise", self._hidden(cut), units)
        people = f"the mean of the population of which these {several(self.unit)} are a sample"
        population = Claim("population", people, units, legend="the population's mean", among="samples")
        proved = self._is_proved
        prior = line_claim(self.order, units, proved) if self._is_line else posterior_claim(units)
        priors = (prior,) if self._is_line or self._has_posterior else ()
        more = () if self.order else (population,)
        return (*priors, noise, *more) if self._is_line else (noise, *priors, *more)

    def _stated(self) -> Stated:
        grid, (start, end) = self.grid_points, self.domain_range
        places = f"{grid.size} points from {grid[0]:g} to {grid[-1]:g}"
        places += f", in the domain from {start:g} to {end:g}"
        derivative = f"the derivative (of order {self.order}) of " if self.order else ""
        verdicts = {"misfit": misfit(self), "accuracy": verdict(self)}
        findings = {name: text for name, text in verdicts.items() if text is not None}
        stated = self._function(
            f"{derivative}a {super()._subject}",
            places,
            {"verdict": verdicts["accuracy"], "misfit": verdicts["misfit"]},
        )
        return replace(
            stated,
            first=[f"{first_up(text).rstrip('.')}." for text in findings.values()],
            remarks=self._remarks(),
            findings=findings,
        )

    def _remarks(self) -> list[str]:
        if not self._is_line:
            return []
        return [PROVED if self._is_proved else WIGGLES]

    def _warnings(self) -> list[str]:
        kernel = getattr(self.basis, "kernel", None)
        warning = None if kernel is None else short_range(kernel, self.grid_points, self.domain_range)
        return [*([] if warning is None else [warning]), *super()._warnings()]

    @property
    def _headline(self) -> str:
        derivative = f", derivative of order {self.order}" if self.order else ""
        return f"{super()._headline}{derivative}"


class OfMeans(Release, Generic[Part]):
    """A release made of several means: what all share is read off the first."""

    if TYPE_CHECKING:

        @property
        def means(self) -> Mapping[str, Part]: ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what the means are of."""
        return tuple(self.means)

    @property
    def _any(self) -> Part:
        return next(iter(self.means.values()))

    @property
    def about(self) -> Mapping[str, object]:
        """Labels, date and versions."""
        return self._any.about

    domain_range: tuple[float, float] = said_by("_any.domain_range", "Ends of the domain.")

    grid_points: Floats = said_by("_any.grid_points", "Public grid (m,) of the curves.")

    def _functions(self, at: Floats) -> dict[str, Floats]:
        return {name: np.asarray(mean(at[:, 0])) for name, mean in self.means.items()}


def level_name(level: object) -> str:
    """What a group is called; by its labels in the order of their columns, where there are several."""
    return " / ".join(map(str, level)) if isinstance(level, tuple) else str(level)


class OfGroups(OfMeans[Part]):
    """A release of each of several disjoint groups, at the cost of one.

    Raises
    ------
    ParameterError
        If there are fewer than two groups, or they differ in what they promise or in their domain.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = list(self.means.values())
        terms = {(part.guarantee, part.neighbours, part.unit, part.domain_range) for part in parts}
        if len(parts) < 2 or len(terms) != 1:
            words = "be two or more with one guarantee, relation, unit and domain"
            raise ParameterError("groups", words, f"{len(parts)} with {len(terms)} kinds")
        if not all(part.certificate.paid_with(parts[0].certificate) for part in parts):
            words = "be released together, so that one charge paid for all"
            remedy = "Fit them in one call, with their labels."
            raise ParameterError("groups", words, "releases of their own", remedy)

    certificate: Certificate = said_by(
        "_any.certificate", "Of all releases: that of each, because the groups share no privacy unit."
    )

    def __getitem__(self, name: str | tuple[str, ...]) -> Part:
        """The release of a group."""
        return self.means[self._name(name)]

    def _name(self, name: str | tuple[str, ...]) -> str:
        return label(level_name(name) if isinstance(name, tuple) else name, "group", self.names)

    def describe_composition(self) -> str:
        """Say in words why the groups together cost what one of them costs."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return (
                f"parallel composition: every {self.unit} is in one group, and which group, like the "
                f"number of {several(self.unit)} of each, is public; neighbours replace the data of one "
                f"{self.unit}, who stays in the same group"
            )
        return (
            f"parallel composition: every {self.unit} is in one group, which is private like the "
            f"numbers of {several(self.unit)}; neighbours add or remove one {self.unit}. To move one "
            "from a group to another is to remove and to add: twice the guarantee"
        )

    def _to_entries(self) -> dict[str, object]:
        return {"composition": self.describe_composition(), **super()._to_entries()}

    def _lines(self) -> dict[str, str]:
        return {
            "guarantee": f"{self.guarantee}, all groups together",
            "because of": self.describe_composition(),
        }
