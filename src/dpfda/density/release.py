"""A released density: any released function, made non-negative with integral one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpfda.bases.grids import product_points
from dpfda.bases.scales import Scale
from dpfda.density.banded import BandedDensity
from dpfda.density.histogram_release import ReleasedHistogram, noise_words
from dpfda.density.linear_density import check_levels
from dpfda.density.peaks import Inside
from dpfda.density.sample_band import IN_PARTS, REPEATED, STATED, comb_words, crowded_words
from dpfda.numerics.arrays import Flags, Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, real, shown
from dpfda.numerics.words import several
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.facts import Stated
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.kinds import kinds
from dpfda.releases.promise import noise_guarantees
from dpfda.releases.shares import domain_words, used_units
from dpfda.releases.words import density_label
from dpfda.views import Line, Table, View
from dpfda.views.shapes import check_drawn

# The kind, derived from this one, of one variable of a plane given the other.
CONDITIONAL = "dpfda-conditional-density"
# Points of a table on an interval; about how many of more variables, for a band takes its time.
ON_LINE, IN_SPACE = 201, 1024
# A picture shows where a density is, if that is less than this part of its interval and so many points.
SMALL_PART, FEWEST_SHOWN = 0.25, 20


@dataclass(frozen=True, eq=False)
class ReleasedDensity(BandedDensity):
    """A probability density published under differential privacy.

    Call it, integrate it, draw from it as often as anyone likes: that is post-processing. It is made of
    the function `raw` that the mechanism gave, on a public grid of nodes: the density nearest in L2,
    max(raw - c, 0) with c such that the integral is one. Where counts of an interval give `raw` more
    than a sixteenth of the mass below zero (values that repeat, narrow peaks), that would take it from
    the tails. It is then made up for close by: the density is that whose distribution function is
    nearest to the integral of `raw`, which is levelled where it falls. Peaks narrower than cells are set
    aside first (`dpfda.density.peaks`). Between the nodes, which are the midpoints of 2048 (256 x 256,
    64 x 64 x 64) equal cells, it is linear in each variable; within half a cell of the edge it is
    constant. More than 4,096 cells of an interval have up to 65,536 nodes, more than 2^18
    of a rectangle up to 1024 x 1024.

    Of one variable a call is a smooth density, around which the units' own shares of cells scatter by
    chance. `cdf`, `quantile`, `integral` and `sample` keep these shares, as far as noise lets them be
    seen, and have the form of the density within a cell; with a step so do probabilities of values. Of
    several variables, of a kernel estimate and with a bandwidth they are those of the very function that
    a call evaluates.

    Parameters
    ----------
    raw : ReleasedHistogram, ReleasedFunction or ReleasedField
        What the mechanism gave, not yet a density.
    scale : Scale, optional
        Where there is one, `raw` lives on it, from 0 to 1, and nodes are equal there.
    step : float, optional
        Where there is one, only values that many steps from the first end of the domain can be, and
        `masses` are their probabilities; `cdf`, `quantile`, `sample` and `integral` are for these.
    inside : dpfda.density.peaks.Inside, optional
        Noisy counts of parts of the cells where `raw` has peaks.
    smooth : bool
        Whether no peaks are set aside, and no shares of units kept; a file does not say so.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateDensity
    >>> ages = np.random.default_rng(1).normal(60, 15, size=3000)
    >>> release = PrivateDensity(epsilon=1, domain=(0, 100)).fit(ages).release_
    >>> bool(0.03 > release(60.0) > release(5.0) >= 0)
    True
    >>> round(release.integral(), 12), bool(50 < release.quantile(0.5) < 70)
    (1.0, True)
    >>> release.sample(5, np.random.default_rng(2)).shape
    (5,)
    """

    _FORMAT: ClassVar[str] = "dpfda-density"
    _CALLED: ClassVar[str] = "released density"
    _DRAWN: ClassVar[tuple[str, ...]] = ("domain", "domain_2")
    _axis_units: ClassVar[str] = "units of the data"
    _subject = "density"
    # What the mechanism gave, from which the density is made again.
    _ENTRIES: ClassVar[file.Table] = {
        "raw": file.part(ReleasedHistogram, ReleasedFunction, ReleasedField),
        "scale": file.itself(Scale.from_json).or_absent,
        "step": file.entry(lambda step: length(step, "step")).or_absent,
        "inside": file.itself(Inside.from_json).or_absent,
    }

    def smoothed(self, smoothing: object) -> ReleasedDensity:
        """The same noisy counts, smoothed otherwise: "adaptive" or a bandwidth. Costs no privacy.

        Raises
        ------
        ParameterError
            If the release is not made of counts.
        """
        if not isinstance(self.raw, ReleasedHistogram):
            raise ParameterError(
                "smoothing", "be changed on a histogram only", self.raw.certificate.mechanism["name"]
            )
        if self.scale is not None and not isinstance(smoothing, str):
            words = "be 'adaptive' or 'monotone' on a scale"
            raise ParameterError(
                "smoothing", words, shown(smoothing), "A bandwidth is in units of the axis."
            )
        return replace(self, raw=self.raw.smoothed(smoothing))

    def conditional(self, value: float, axis: int | str = 0) -> ReleasedDensity:
        """The density of one variable of a plane where the other has a value. Costs no privacy.

        Parameters
        ----------
        value : float
            Of the variable that is given, in its units and inside its domain.
        axis : int or str
            Number of the variable that is given, from 0, or its label, with its unit or without.

        Returns
        -------
        ReleasedDensity
            A `dpfda.density.conditional_release.ReleasedConditionalDensity`: values, `cdf`, `quantile`,
            `sample` and `band` of the other variable.

        Raises
        ------
        ParameterError
            If the release is not made of counts in the plane, or the value is outside the domain.
        """
        if not isinstance(self.raw, ReleasedHistogram) or self.dimensions != 2:
            kind = (
                f"a density of {self.dimensions} variable(s), {self.raw.certificate.mechanism['name']}"
            )
            raise ParameterError("conditional", "be asked of counts of two variables", kind)
        number = self._number(axis)
        a, b = self.domain_range[number]
        place = real(value, "value", a, b, f"lie in the domain from {a:g} to {b:g}")
        conditional: Any = kinds()[CONDITIONAL]
        return conditional(self.raw, axis=number, place=place)  # type: ignore[no-any-return]

    def _given(self, stated: str) -> Release:
        if self.dimensions != 2:
            return super()._given(stated)
        name, _, value = stated.rpartition("=")
        labels = [self._axis_label(axis).partition(" (")[0] for axis in range(2)]
        # As columns of tables are called.
        name = dict(zip(self._axes, labels, strict=True)).get(name.strip(), name)
        if name.strip() not in ("", *labels):
            raise ParameterError("--given", f"name one of {labels}", repr(name))
        try:
            place = float(value)
        except ValueError:
            words = "be a value of the first variable, or NAME=VALUE"
            raise ParameterError("--given", words, repr(stated), "Example: --given age=40") from None
        return self.conditional(place, labels.index(name.strip()) if name else 0)

    def _of_shares(self, shares: Sequence[float]) -> Release | Table:
        if self.dimensions > 1:
            return super()._of_shares(shares)
        (name,), levels = self._axes, check_levels(shares, "--quantiles")
        columns = {"share": levels, name: np.asarray(self.quantile(levels), dtype=float)}
        return Table(columns, {"share": "share of the mass below", name: self._axis_label(0)})

    def _drawn_sample(self, count: int) -> Table:
        names = list(self._axes)
        points = np.reshape(self.sample(count), (count, len(names)))
        means = [f"synthetic: {self._axis_label(axis)}" for axis in range(len(names))]
        return Table(dict(zip(names, points.T, strict=True)), dict(zip(names, means, strict=True)))

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        held = super()._entries(written, kernel)
        raw = held["raw"]
        if "stated" not in held and isinstance(raw, ReleasedHistogram) and raw.cells.atoms:
            raise ValueError("a density without atoms is made of counts without any")
        return held

    def _checked(self) -> None:
        if self.inside is None:
            return
        raw, cells = self.raw, self.inside.cells
        if not isinstance(raw, ReleasedHistogram) or self.dimensions > 1:
            raise ValueError("parts are of cells of an interval")
        if not 0 <= cells[0] <= cells[-1] < raw.cells.size:
            raise ValueError("parts are of cells that there are")
        if (self.inside.public_size, self.inside.exponent) != (raw.public_size, raw.exponent):
            raise ValueError("parts and cells are of the same units")
        # The same stage paid for both.
        paid = [*self.raw._added_noise(), *self.inside._added_noise(self.neighbours)]
        noise_guarantees(self.certificate, paid)

    # Tables, pictures and words.

    def _default_points(self) -> Floats:
        if self.scale is not None:
            return self._with_parts(self.scale.points(np.linspace(0.0, 1.0, ON_LINE)))
        if self.step is not None:
            return self.possible[:, None]
        if self.dimensions == 1:
            return self._with_parts(np.linspace(*self.domain_range[0], ON_LINE))
        return product_points(
            self.midpoints((round(IN_SPACE ** (1 / self.dimensions)),) * self.dimensions)
        )

    def _band_points(self) -> Floats:
        points = self._even_points
        return points if self.inside is None else self._with_parts(points[:, 0])

    @property
    def _even_points(self) -> Floats:
        if self.step is not None:
            return self.possible[:, None]
        points = self.raw._band_points()
        return points if self.scale is None else self.scale.points(points)

    def _even(self, points: Floats) -> slice | Flags:
        return slice(None) if self.inside is None else np.isin(points, self._even_points).ravel()

    def _with_parts(self, points: Floats) -> Floats:
        """Points (q, 1) with the middles of the parts that were counted, where a peak may be alone."""
        if self.inside is None or not isinstance(self.raw, ReleasedHistogram):
            return points[:, None]
        ends, parts = self._edges(self.raw, self.inside.parts), self.inside.parts
        divided = np.isin(np.arange(ends.size - 1) // parts, self.inside.cells)
        return np.union1d(points, ((ends[1:] + ends[:-1]) / 2)[divided])[:, None]

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        if self.dimensions > 1:
            return super()._columns(at, asked)
        cdf = np.asarray(self.cdf(at[:, 0])), "share of the units up to the point"
        columns = super()._columns(at, asked)
        if self.step is not None:
            # What is within half a step of a point.
            columns = {name: (self.step * values, words) for name, (values, words) in columns.items()}
        first, *band = columns.items()
        return dict([first, ("cdf", cdf), *band])

    def view(self, level: float | None = LEVEL) -> View:
        if self.dimensions == 1:
            line = self._line("released density", level)
            if self.step is not None:
                line = _masses_of(line, self.step)
            return replace(self._curve([line], baseline=0.0), shown=self._shown(line.points))
        check_drawn(self.dimensions, "Draw release.marginal(axis), or a slice of release.on_grid().")
        return replace(self._image(self.on_grid(), level), floor=0.0)

    def _shown(self, points: Floats) -> tuple[float, float] | None:
        """Where all but a hundredth of it lies on an interval, with room, if that is a small part."""
        ((start, end),) = self.domain_range
        low, high = np.asarray(self.quantile([0.005, 0.995])).tolist()
        room = (high - low) / 5
        low, high = max(start, low - room), min(end, high + room)
        if np.count_nonzero((low <= points) & (points <= high)) < FEWEST_SHOWN:
            return None
        return (low, high) if high - low < SMALL_PART * (end - start) else None

    @property
    def _made_by(self) -> str:
        return f"{self.raw.certificate.mechanism['name']} mechanism"

    @property
    def public_units(self) -> int | None:
        return self.raw.public_units

    @property
    def _value_label(self) -> str:
        if self.step is not None:
            return "probability of a value"
        return density_label(self.about, self.dimensions)

    def _stated(self) -> Stated:
        raw, edges, looks = self.raw, list[str](), dict[str, str]()
        mechanism = f"{raw.certificate.mechanism['name']} estimate, {raw.noise.describe()}"
        if isinstance(raw, ReleasedHistogram):
            mechanism = f"{self._made_words(raw)}, {noise_words(raw.noise)}"
            if self.inside is not None:
                noise = noise_words(self.inside.noise)
                mechanism += f", then parts of the cells that show peaks, {noise}"
            edges = raw.edges_words()
            if raw.is_lost:
                seen = f"how {several(self.unit)} are spread is not known"
                looks = {"few": f"hardly anybody is seen through the noise: {seen}"}
            elif self.step is None:
                apart = "" if self._peaks is None else self._peaks.words(self._edges(self._peaks.raw))
                looks = {"values": comb_words(raw), "peak": crowded_words(raw) or apart}
                if self._of_sample and raw.dimensions == 1 and not looks["values"]:
                    unseen = REPEATED if self.inside is None else IN_PARTS
                    edges = [f"{unseen} {STATED}", *edges]
        looks = {name: words for name, words in looks.items() if words}
        return Stated(
            self._kind_words,
            uses="be evaluated at any point, integrated, drawn, and used to draw synthetic data,",
            public=[domain_words(self)],
            noise=mechanism,
            units=used_units(self),
            first=[f"{words[:1].upper()}{words[1:]}." for words in looks.values()],
            remarks=edges,
            numbers=self._numbers(),
            findings=looks,
        )

    def _numbers(self) -> dict[str, object]:
        domain = [list(ends) for ends in self.domain_range]
        return {"mechanism": dict(self.raw.certificate.mechanism), "domain_range": domain}

    @property
    def _kind_words(self) -> str:
        if self.step is not None:
            return f"Probabilities of {self._values_words}: none negative, of sum one."
        where = self._spoken_domain
        return f"A probability {self._subject} over {where}: nowhere negative, with integral one."

    @property
    def _values_words(self) -> str:
        first, second, *_, last = (f"{value:g}" for value in self.possible)
        return f"the values {first}, {second}, .., {last}"

    def _lines(self) -> dict[str, str]:
        lines, values = self.raw._lines(), "" if self.step is None else self._values_words
        lines |= {"values": values.removeprefix("the values ")} if values else {}
        if self.scale is not None and isinstance(self.raw, ReleasedHistogram):
            lines["cells"] = self._cells_words(self.raw)
        return lines

    def _cells_words(self, raw: ReleasedHistogram) -> str:
        if self.scale is None:
            return raw.cells.describe()
        kind = (
            "a scale chosen privately"
            if raw.certificate.mechanism.get("scale") == "zoom"
            else "a public scale"
        )
        a, b = self.scale.domain_range
        return f"{raw.cells.size} cells, equal on {kind}, of [{a:g}, {b:g}]"

    def _made_words(self, raw: ReleasedHistogram) -> str:
        words = self._cells_words(raw)
        if raw.certificate.mechanism.get("scale") != "zoom":
            return words
        chosen = f"first an interval where many {several(self.unit)} lie was chosen with noise"
        return f"{chosen}, its width, then its place unless it is wide; then {words}"


def _masses_of(line: Line, step: float) -> Line:
    """The line with probabilities of values in the place of a density."""
    lower, upper = (None if end is None else step * end for end in (line.lower, line.upper))
    label = "released probability of each value"
    return replace(line, values=step * line.values, label=label, lower=lower, upper=upper, marked=True)
