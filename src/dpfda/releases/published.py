"""What every release knows of itself: values, tables, views and words, from what its kind says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_box_points, freeze, product_points
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certified
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import cautions, caveats, claim, first_up, in_short, number
from dpfda.releases.bands import Asked, Band, Of, check_of
from dpfda.releases.facts import BandFact, Claim, Facts, Stated
from dpfda.views import Curve, Image, Line, Table, View, draw, draw_panels, to_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Values of a column of a table, and what they are.
Column = tuple[Floats, str]
LEVEL = 0.95
SELECTED = (
    "This is the best of several runs, by its score: bands and intervals are made for one run, and hold "
    "less often for the best."
)


def as_given(at: Floats) -> Floats:
    """Points (q, c) as a function takes them: (q,) where a point is one number."""
    return at[:, 0] if at.shape[1] == 1 else at


class Published(Certified):
    """What a kind of release says of itself, and what follows from it: values, tables, views, words."""

    _FORMAT: ClassVar[str]
    _CALLED: ClassVar[str]
    # Labels that say what is drawn: of the values, or of the axes.
    _DRAWN: ClassVar[tuple[str, ...]] = ("value",)
    # Whether its subject is plural.
    _plural: ClassVar[bool] = False
    # Whether the band of the noise can be had as its law gives it, around what was measured.
    _has_exact: ClassVar[bool] = True
    # Whether its `functions` are the values of one.
    _vector_valued: ClassVar[bool] = False
    _axis_units: ClassVar[str] = "units of the grid"
    # Whether its points are single ones, with nothing between them.
    _discrete: ClassVar[bool] = False
    # Why it states no band for what an unlimited budget would publish, where it states none.
    _unseen: ClassVar[str] = "How far what was left out may be is not known."
    # Where its bands are, if not around it as a whole.
    _bands_are: ClassVar[str] = "Its parts have bands of their own."

    if TYPE_CHECKING:
        # No attributes here: dataclasses would take them for defaults.
        @property
        def about(self) -> Mapping[str, object]: ...
        @property
        def domain_range(self) -> Any: ...
        @property
        def grid_points(self) -> Any: ...

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            # Else a dataclass would write one of its own: with all its numbers.
            cls.__repr__ = Published.__repr__  # type: ignore[method-assign]

    # Immutable, and the same wherever it is sent.

    def __post_init__(self) -> None:
        freeze(self, *(name for name, value in vars(self).items() if isinstance(value, np.ndarray)))
        for name, value in vars(self).items():
            if isinstance(value, Mapping):
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __getstate__(self) -> dict[str, object]:
        # A read-only view of a mapping cannot be pickled; what was computed is computed again.
        computed = {k for k in vars(self) if isinstance(getattr(type(self), k, None), cached_property)}
        own = {k: v for k, v in vars(self).items() if k not in computed}
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in own.items()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @classmethod
    def from_json(cls, written: dict[str, object], kernel: object = None) -> Self:
        """Build a release from JSON types; whatever does not fit raises a `ValueError`."""
        raise NotImplementedError

    def to_json(self) -> dict[str, object]:
        """Everything in a release as JSON types, in the order in which a person would read it."""
        raise NotImplementedError

    # Values, tables and pictures.

    @property
    def _axes(self) -> Mapping[str, tuple[float, float]]:
        """Coordinates of a point by name, each with its ends; by default those of `domain_range`."""
        ends = np.array(self.domain_range, dtype=np.float64).reshape(-1, 2)
        names = ["point"] if len(ends) == 1 else [f"point_{i + 1}" for i in range(len(ends))]
        return {name: (float(a), float(b)) for name, (a, b) in zip(names, ends, strict=True)}

    def _default_points(self) -> Floats:
        """Points (q, c) at which it is tabulated by default; here those of `grid_points`."""
        grid = self.grid_points
        return grid[:, None] if isinstance(grid, np.ndarray) else product_points(grid)

    def _band_points(self) -> Floats:
        """Points (q, c) over which a band is simultaneous that is asked for elsewhere."""
        return self._default_points()

    def _even(self, points: Floats) -> slice | Flags | Integers:
        """Which points of a band are spread evenly: those that its mean widths are of."""
        return slice(None)

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        """Values at points (q, c) by name, each with its meaning."""
        line = np.asarray(self(as_given(at)))  # type: ignore[operator]
        place = f", at {self._where}" if self._where else ""
        value = {"value": (line, self._value_label + place)}
        if type(self).band is Published.band:
            return value
        return value | self._band_columns(at, request, line)

    def _band_columns(self, at: Floats, request: Asked, line: Floats | None = None) -> dict[str, Column]:
        """Ends of the band at points (q, c), and around a line; a simultaneous one is for the domain.

        `band` with a few points is simultaneous over those alone; tables made for different points
        would then not hold together.
        """
        band = self._band_at(np.concatenate([at, self._band_points()]), request)
        over = "everywhere at once" if request.simultaneous else "at a point chosen in advance"
        ends = {"lower": band.lower[: len(at)], "upper": band.upper[: len(at)]}
        if line is not None and not request.exact:
            # Where a band ends at the line: products with more points may round it otherwise.
            ends = {"lower": np.minimum(ends["lower"], line), "upper": np.maximum(ends["upper"], line)}
        words = f"end of the {request.level:.4g} band, {over}"
        columns = {name: (end, f"{name} {words}") for name, end in ends.items()}
        if not request.exact:
            return columns
        # The line may leave this band: it is drawn around another estimate, which is shown as well.
        middle = (ends["lower"] + ends["upper"]) / 2, "what was measured, around which the band is"
        return {"measured": middle, **columns}

    def _band_at(self, at: Floats, request: Asked) -> Band:
        """The band at points (q, c)."""
        level, over = request.level, request.simultaneous
        return self.band(level, over, as_given(at), request.of, request.exact)

    @property
    def _bandless(self) -> str:
        """Why its table has no band, in words; empty where it has one."""
        return ""

    def band(self, *arguments: Any, **named: Any) -> Band:
        """A band, where this kind states one: see `dpfda.releases.base.Banded.band`.

        Raises
        ------
        ParameterError
            Here always, with the reason: this kind states none as a whole.
        """
        why = first_up(self._bandless) + "." if self._bandless else self._bands_are
        raise ParameterError("band", "be asked of what states one", f"a {self._CALLED}", why)

    def table(
        self,
        points: ArrayLike | None = None,
        level: float = LEVEL,
        simultaneous: bool = True,
        of: Of | None = None,
        exact: bool = False,
    ) -> Table:
        """Values at points, with their band where this kind has one.

        Parameters
        ----------
        points : array (q, c), or (q,) where a point is one number; optional
            By default the grid of the release.
        level : float
            Probability of the band.
        simultaneous : bool
            Whether it is for the whole domain at once, or for each point by itself.
        of : {"noise", "sample", "population"}, optional
            What the band is for, where there are several; see `band`.
        exact : bool
            Whether the band of the noise is that around what was measured, which is then a column.

        Raises
        ------
        ParameterError
            If a point is outside the domain or has another number of coordinates.
        """
        request = Asked(level, simultaneous, check_of(of), exact)
        at = self._read_points(self._default_points() if points is None else points)
        where: dict[str, Column] = {
            name: (at[:, i], self._axis_label(i)) for i, name in enumerate(self._axes)
        }
        columns = where | self._columns(at, request)
        return Table({k: v for k, (v, _) in columns.items()}, {k: m for k, (_, m) in columns.items()})

    def _read_points(self, points: ArrayLike) -> Floats:
        """Points (q, c) inside the domain."""
        array = reals(points, "points")
        count, shape = len(self._axes), array.shape
        if len(shape) > 2 or (len(shape) == 2 and shape[1] != count) or (len(shape) < 2 and count > 1):
            words = f"give points of {count} coordinate(s) for this release"
            fault = f"{shape[1]}" if len(shape) == 2 else f"shape {shape}"
            raise ParameterError("points", words, fault)
        return check_box_points(array, tuple(self._axes.values()))[0]

    def to_frame(self, level: float = LEVEL) -> pd.DataFrame:
        """The default table as a pandas data frame."""
        return to_frame(self.table(level=level))

    def _functions(self, at: Floats) -> dict[str, Floats]:
        """The published functions by name, at points (q, c)."""
        return {self._subject: np.asarray(self(as_given(at)))}  # type: ignore[operator]

    def view(self, level: float | None = LEVEL) -> View:
        """What a picture shows, with bands of a level where there are any."""
        remedy = "Tabulate it: release.table(), dpfda eval."
        raise ParameterError("release", "be of a kind that can be drawn", type(self).__name__, remedy)

    def plot(self, ax: Axes | None = None, level: float | None = LEVEL) -> Axes:
        """Draw it; on an axis of matplotlib that is given the first of its panels alone.

        `level` is that of bands, None draws none.
        """
        return draw_panels(self._panels(level)) if ax is None else draw(self.view(level), ax)

    def _panels(self, level: float | None = LEVEL) -> tuple[View, ...]:
        """Views that a picture has beside each other: `view` first, and by default alone."""
        return (self.view(level),)

    def _line(self, label: str, level: float | None) -> Line:
        """A curve with its band, over one variable."""
        if level is None:
            at = self._band_points()[:, 0]
            return Line(at, np.asarray(self(at)), label)  # type: ignore[operator]
        band = self.band(level)
        at = np.ravel(band.points)
        values = np.asarray(self(at))  # type: ignore[operator]
        return Line(at, values, label, band.lower, band.upper, self._band_words(level))

    def _band_level(self, level: float) -> float:
        """The level of the band in a table for which this one was asked."""
        return level

    def _band_words(self, level: float) -> str:
        """What the band is, for a legend."""
        return self._claims()[0].words(level)

    def _curve(
        self, lines: Sequence[Line], baseline: float | None = None, foot: Line | None = None
    ) -> Curve:
        """Lines over the one variable of this release, with its words."""
        labels = (self._axis_label(0), self._value_label)
        return Curve(tuple(lines), *labels, self._title, self._subtitle, baseline, foot=foot)

    def _image(self, values: Floats, level: float | None = None) -> Image:
        """Values in cells over the two variables of this release, with its words.

        A picture shows no band of a level: how far it reaches is said in words.
        """
        first, second = self._axes.values()
        labels = (self._axis_label(0), self._axis_label(1), self._value_label)
        subtitle = self._subtitle
        if level is not None:
            band = self.band(level)
            far = number(float(band.reach(self(band.points)).max()))  # type: ignore[operator]
            subtitle += f"; values without the noise lie within {far} of these, {100 * level:.4g}%"
        return Image(values, (first, second), *labels, self._title, subtitle)

    # Words.

    @property
    def _subject(self) -> str:
        """What was published, in few words."""
        return str(self.about.get("summary", "function"))

    @property
    def _made_by(self) -> str:
        """How, in few words, for a citation."""
        described = self.certificate.bound.get("description", "a public bound")
        return f"{described}; {self.certificate.mechanism.get('name', 'its own')} mechanism"

    @property
    def public_units(self) -> int | None:
        """Number of privacy units where the guarantee makes it public and the release knows it."""
        size: int | None = getattr(self, "public_size", None)
        return size if self.neighbours is Neighbours.REPLACE_ONE else None

    @property
    def _of_whom(self) -> str:
        """Of how many units, without telling a private number."""
        if self.neighbours is Neighbours.ADD_REMOVE:
            return f"a private number of {several(self.unit)}"
        units = self._told_units
        return f"{several(self.unit)}" if units is None else f"{units} {several(self.unit)}"

    @property
    def _title(self) -> str:
        """What a picture shows, of how many, and who is protected."""
        about = self._drawn
        what = f"{first_up(self._subject)} of {self._of_whom}"
        return f"{what}{about and f': {about}'}; each {self.unit} is protected"

    @property
    def _drawn(self) -> str:
        """Labels of what is drawn, where they were given, without units."""
        labels = [str(self.about.get(name, "")).partition(" (")[0] for name in self._DRAWN]
        return " and ".join(filter(None, labels))

    @property
    def _subtitle(self) -> str:
        """The guarantee in words."""
        return in_short(self.certificate)

    @property
    def _value_label(self) -> str:
        """What values are, with their unit."""
        standard = self.about.get("standardized")
        return str(self.about.get("value", "standardised value" if standard else "value"))

    @property
    def _where(self) -> str:
        """Values of the covariates that it is evaluated at, in words; "" where there are none."""
        return ""

    def _axis_label(self, axis: int) -> str:
        """What a coordinate is, with its unit."""
        if len(self._axes) == 1:
            return str(self.about.get("domain", f"t ({self._axis_units})"))
        which = ("first", "second", "third")[axis] if axis < 3 else f"{axis + 1}th"
        named = self.about.get("domain" if axis == 0 else f"domain_{axis + 1}")
        return str(named or f"{which} variable ({self._axis_units})")

    @property
    def _spoken_domain(self) -> str:
        """Where it is defined, in words."""
        axes = list[str]()
        for i, (a, b) in enumerate(self._axes.values()):
            label = self.about.get("domain" if i == 0 else f"domain_{i + 1}")
            name = "the axis" if len(self._axes) == 1 else f"axis {i + 1}"
            axes.append(f"{label or name} from {a:g} to {b:g}")
        return " and ".join(axes)

    # Facts.

    def _stated(self) -> Stated:
        """What this kind alone states."""
        return Stated(" ".join(repr(self).split()), noised=False)

    def _claims(self) -> Sequence[Claim]:
        """What its band is for: of the default one first; none where it has no band."""
        return ()

    def _band_facts(self) -> Iterable[BandFact]:
        """How far its default band reaches, or those of its parts."""
        return [BandFact.of(claim, self, LEVEL) for claim in self._claims()[:1]]  # type: ignore[arg-type]

    def _lines(self) -> dict[str, str]:
        """Further lines of `repr`, by name."""
        return {}

    @cached_property
    def facts(self) -> Facts:
        """All that is stated of it, once: texts, pages and summaries are made of these."""
        stated, warnings = self._stated(), tuple(self._warnings())
        units = stated.units or self._units_words()
        bands = () if self._bandless else tuple(self._band_facts())
        sure = self._subject, self._of_whom, self.certificate, self.about
        return Facts(*sure, units, bands, self._bandless, stated, warnings, self._citation)

    @property
    def _told_units(self) -> int | None:
        """The public number of units; None where they count by weights, and another is divided by."""
        return None if "counted" in self.about else self.public_units

    def _units_words(self) -> str:
        """What is public of the number of units."""
        units = self._told_units
        if units is None and self.neighbours is Neighbours.ADD_REMOVE:
            return f"nothing about the number of {several(self.unit)}"
        return f"the number of {several(self.unit)}" + ("" if units is None else f": {units}")

    def _warnings(self) -> list[str]:
        """What a careful data officer would object to."""
        chosen = [SELECTED] if "selected" in self.about else []
        return [*caveats(self.certificate), *chosen, *cautions(self.guarantee, self.public_units)]

    @property
    def _citation(self) -> str:
        """Recommended wording for a publication."""
        verb = "were" if self._plural else "was"
        who, how = f"{self.neighbours} neighbours", f"({self._made_by}){self._software}"
        return (
            f"The {self._subject} of {self._of_whom} {verb} published under {claim(self.certificate)}, "
            f"with one {self.unit} as the privacy unit and {who} {how}."
        )

    @property
    def _dated(self) -> str:
        """When it was made, in a sentence after a space."""
        date = self.about.get("created")
        return f" It was made on {date}{self._software}." if date else ""

    @property
    def _software(self) -> str:
        """With what it was made, where it is known."""
        versions = self.about.get("versions")
        version = versions.get("dpfda") if isinstance(versions, Mapping) else None
        return f" with dpfda {version}" if version else ""

    def __repr__(self) -> str:
        lines = {
            "guarantee": claim(self.certificate),
            "neighbours": self.neighbours.describe(self.unit),
            "privacy unit": self.unit,
            "bound": str(self.certificate.bound.get("description", "as its file says")),
            **self._lines(),
        }
        rows = [f"  {name + ':':<13} {text}" for name, text in lines.items()]
        return "\n".join([f"{type(self).__name__} {self._headline}".rstrip(), *rows])

    @property
    def _headline(self) -> str:
        """The end of the first line of `repr`: where it is defined."""
        ends = " x ".join(f"[{start:g}, {end:g}]" for start, end in self._axes.values())
        return f"on {ends}"
