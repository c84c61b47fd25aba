"""One base of everything that is published: what every kind of release does, written once.

A kind of release is one file: a frozen dataclass derived from `Release`, with a name ``_FORMAT`` for its
files. It says what only it can: its values and bands, its entries in a file, its view and its words. It
is found by that name, in this folder or wherever else it was imported from; nothing lists the kinds.

Releases whose values have a band: it is asked for in one way, and each kind answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import check_box_points, check_points
from dpfda.bounds.stated import bound_from_json
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping
from dpfda.numerics.errors import ParameterError, StorageError
from dpfda.numerics.parameters import shown
from dpfda.privacy.certificates import Certificate, certificate_to_json, said_by
from dpfda.releases import entries as file
from dpfda.releases.asked_bands import checked
from dpfda.releases.bands import Asked, Band, Of, Variance
from dpfda.releases.facts import report
from dpfda.releases.files import free_name, other_kind, write_json
from dpfda.releases.functional import to_basis, to_fdatagrid
from dpfda.releases.kinds import KINDS, SCHEMA_VERSION, read
from dpfda.releases.plain import ON_LINE, plain, thinned
from dpfda.releases.promise import AddedNoise, charged, checked_promise, noise_guarantees
from dpfda.releases.published import LEVEL, Column, Published, as_given
from dpfda.views.languages import ENGLISH, Language

if TYPE_CHECKING:
    from skfda import FDataBasis, FDataGrid
    from skfda.representation.basis import Basis as SkfdaBasis

    from dpfda.views import Table, View

# Why a file is not written where it should be: what its name must do, what was found, and what to do.
OTHERWISE = {
    None: ("be a new file", "that {} exists", "Choose another path, or pass $overwrite."),
    "table": ("end in .json", "{}", "For a table of its values: release.to_frame().to_csv(path)."),
    "picture": ("end in .json", "{}", "For a picture: release.plot().figure.savefig(path)."),
    "page": ("end in .json", "{}", "For a page: Path(path).write_text(release.report())."),
}


class Release(Published):
    """Something published under differential privacy; nothing in it is private.

    Evaluating, drawing, saving and whatever else is done with it are post-processing and cost nothing.
    A kind of release is a frozen dataclass with entries ``certificate`` and ``about`` (labels, date and
    versions, as JSON types), or properties of these names, and says:

    ==================  ===============================================================================
    ``_FORMAT``          name of its files; ``_CALLED``, what people call one
    ``metadata``        of a field: how it stands in its file, ``dpfda.releases.entries.NUMBER.kept``;
                        or ``_ENTRIES``, a table of these; or ``_to_entries`` and ``from_json``
    ``domain_range``    ends of its domain, or of each variable; or ``_axes``, which names them
    ``__call__``        values at points; or ``columns`` for several values
    ``_around``         its band, where it is a `dpfda.releases.base.Banded`
    ``grid_points``     where it is tabulated by default; or ``_default_points``
    ``view``            a curve or an image of `dpfda.views`
    ``_stated``         what it states, as `dpfda.releases.facts.Stated`
    ``_claims``         what its bands are for, as `dpfda.releases.facts.Claim`
    ==================  ===============================================================================

    Optional: ``_checked`` (refuses a file that contradicts itself), ``_subject``, ``_made_by``,
    ``public_units``, ``_lines`` (further lines of `repr`). Arrays are kept read-only.
    `dpfda.testing.check_release` holds a kind to it.
    """

    _ENTRIES: ClassVar[file.Table] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "_FORMAT" not in vars(cls):
            return
        registered = KINDS.get(cls._FORMAT, cls)
        if (registered.__module__, registered.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError("_FORMAT", "name one kind of release", repr(cls._FORMAT))
        KINDS[cls._FORMAT] = cls

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write a JSON file that `dpfda.load` reads back exactly, and anyone else by its table.

        Raises StorageError if there is such a file, unless told to overwrite it, or if its name is that
        of a table, a picture or a page. The release is written beside it then: one that is lost, as a
        script ends here, cannot be made again for free.
        """
        written, other = self.to_json() | plain(self, LEVEL), other_kind(path)
        target = parameters.path(path).with_suffix(".json") if other else parameters.path(path)
        taken = not parameters.flag(overwrite, "overwrite") and target.is_file()
        if not (other or taken):
            return write_json(path, written, overwrite)
        saved = write_json(free_name(target), written)
        must, fault, remedy = OTHERWISE[other]
        raise StorageError(
            f"path must {must}; found {fault.format(repr(str(path)))}. The release is kept in "
            f"{str(saved)!r}. {remedy}",
        )

    @classmethod
    def load(cls, path: str | Path, kernel: object = None) -> Self:
        """Read a release of this kind from a JSON file; see `dpfda.load`."""
        return read(path, cls, kernel)

    def to_json(self) -> dict[str, object]:
        """Everything in a release as JSON types, in the order in which a person would read it."""
        return {
            "format": self._FORMAT,
            "schema_version": SCHEMA_VERSION,
            **certificate_to_json(self.certificate),
            "about": dict(self.about),
            **self._to_entries(),
        }

    def _to_entries(self) -> dict[str, object]:
        """What this kind alone holds, as JSON types."""
        return file.to_file(self, file.table_of(type(self)))

    @classmethod
    def from_json(cls, written: dict[str, object], kernel: object = None) -> Self:
        item = cls(**cls._entries(written, kernel))
        if "certificate" not in {field.name for field in fields(item)}:  # type: ignore[arg-type]
            item._checked()
            return item
        certificate = replace(item.certificate, bound=item._stated_bound())
        item = replace(item, certificate=certificate)  # type: ignore[type-var]
        item._checked()
        certificate, noises = item.certificate, item._added_noise()
        if written.get("schema_version", 1) == 1 or "selected" in item.about:
            # The cost of each stage is not stated exactly; the best of several runs cost more than one.
            noise_guarantees(certificate, noises)
            return item
        certificate = checked_promise(certificate, noises, item._parts(), getattr(item, "noise", None))
        return item if certificate is item.certificate else replace(item, certificate=certificate)  # type: ignore[type-var]

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        """The arguments of the class that its file holds."""
        entries = file.from_file(written, file.table_of(cls), kernel)
        own = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if "certificate" in own:
            entries["certificate"] = cls._charged(written, entries)
        if "about" in own:
            entries["about"] = mapping(written["about"])
        return entries

    @classmethod
    def _charged(cls, written: Mapping[str, object], entries: file.Held) -> Certificate:
        """The certificate in its file; where the file holds noise, its losses are of no other law."""
        return charged(written, entries)

    def _stated_bound(self) -> Mapping[str, object]:
        """The public bound in numbers and words: its words are never those of a file.

        By default what its numbers say, or as it was given where it has none.
        """
        if "kind" not in self.certificate.bound:
            return self.certificate.bound
        bound = bound_from_json(self.certificate.bound)
        return {"description": bound.describe(), **bound.to_json()}

    def _added_noise(self) -> Sequence[AddedNoise]:
        """Noise that it holds, with how far one unit moves what that was added to, as far as known.

        Reading a file recomputes from it what the noise gives, and refuses a certificate that says
        something else.
        """
        return ()

    def _parts(self) -> list[Certificate]:
        """Certificates of the releases that it holds, which were charged as parts of its own."""
        own = [value for value in vars(self).values() if isinstance(value, Release)]
        named = [value for value in vars(self).values() if isinstance(value, Mapping)]
        many = [part for group in named for part in group.values() if isinstance(part, Release)]
        return [part.certificate for part in (*own, *many)]

    def _checked(self) -> None:
        """Refuse, by a `ValueError`, what can be wrong with a release in a file alone."""

    # What people ask of a file by the command: a kind that can answer does.

    def _with_predictions(self, table: Table) -> Table:
        """Its table with what is predicted at each point, where it predicts."""
        return table

    def _given(self, stated: str) -> Release:
        """It where something has a value, by words like "age=40"."""
        words = "be of a density of two variables, or of a model of covariates"
        raise ParameterError("--given", words, f"a {self._CALLED}")

    def _of_shares(self, shares: Sequence[float]) -> Release | Table:
        """Its quantiles."""
        words = "be asked of a density on an interval, or of quantile curves"
        raise ParameterError("--quantiles", words, f"a {self._CALLED}")

    def _drawn_sample(self, count: int) -> Table:
        """So many synthetic points, or curves."""
        words = "be asked of a density, or of a sampler of curves"
        raise ParameterError("--sample", words, f"a {self._CALLED}")

    def _difference(self) -> View:
        """How what it holds of groups differs."""
        remedy = "Name two files of mean curves, or one that dpfda compare or survival made of groups."
        raise ParameterError("--difference", "be of two released curves", f"a {self._CALLED}", remedy)

    def _read(self, points: ArrayLike) -> tuple[Floats, bool]:
        """Points (q,) of the domain, or (q, d) of a box; and whether a single one was given."""
        if np.ndim(self.domain_range) == 2:
            return check_box_points(points, tuple(self._axes.values()))
        return check_points(points, self.domain_range), np.ndim(points) == 0

    def to_fdatagrid(self, points: object = None) -> FDataGrid:
        """The published functions as a ``skfda.FDataGrid`` (extra `fda`).

        Domain, names of variables and values, and names of the functions are taken over.

        Parameters
        ----------
        points : array (m,), or one array a variable; optional
            By default the grid of the release.

        Raises
        ------
        MissingExtraError
            Without scikit-fda.
        ParameterError
            If what was released is no function of numbers, or a point is outside its domain.
        """
        return to_fdatagrid(self, points)

    def to_basis(self, basis: SkfdaBasis) -> FDataBasis:
        """The published functions of one variable as a ``skfda.FDataBasis``: a least squares fit.

        Parameters
        ----------
        basis : skfda basis
            On the domain of the release.

        Raises
        ------
        MissingExtraError, ParameterError
            As `to_fdatagrid`; or if there are several variables.
        """
        return to_basis(self, basis)

    def describe(self, language: str = ENGLISH) -> str:
        """Say in plain words what is promised, to whom, on what assumptions, and how accurately.

        Parameters
        ----------
        language : {"en", "de", "fr"}
            What is not translated stays English.

        Returns
        -------
        str
            A report with lines of at most 88 columns. It uses public information only.

        Raises
        ------
        ParameterError
            If the language is another one.
        """
        return report(self.facts, Language(language))

    def report(self, language: str = ENGLISH) -> str:
        """A page to print and to sign: one HTML file with picture, words, guarantee and citation.

        Several releases together, the ledger and the registry are for `dpfda.releases.pages`.

        Parameters
        ----------
        language : {"en", "de", "fr"}
            What is not translated stays English.

        Raises
        ------
        ParameterError
            If the language is another one.
        MissingExtraError
            If jinja2 or matplotlib is not installed.
        """
        from dpfda.releases.pages import report_page
        from dpfda.views.page import to_html

        return to_html(report_page({"this release": self}), language)

    def _repr_html_(self) -> str:
        """For notebooks: what was published, of whom, and a picture where one can be drawn."""
        from dpfda.releases.pages import card
        from dpfda.views.page import to_fragment

        return to_fragment(card(self))


class OnBasis(Release):
    """A release of functions on an interval, which are sums of those of its `basis`."""

    basis: Basis

    domain_range: tuple[float, float] = said_by("basis.domain_range", "Ends of the domain.")
    grid_points: Floats = said_by("basis.grid_points", "Public grid (m,) of the curves.")

    def _band_points(self) -> Floats:
        grid = thinned(self.grid_points, ON_LINE)
        return np.union1d(np.linspace(*self.domain_range, 201), grid)[:, None]


def load(path: str | Path, kernel: object = None) -> Release:
    """Read a release of any kind from a JSON file.

    Parameters
    ----------
    path : path
    kernel : callable, optional
        The kernel, where the release was made with a custom function.

    Raises
    ------
    StorageError
        If the file is missing, not a release, of a later schema, or damaged.
    """
    return read(path, Release, kernel)


__all__ = ["LEVEL", "Column", "Release", "load"]


class Banded(Release):
    """A release of one function, or of a table, with a band around it.

    A kind of release says in `_claims` what its bands are for, and in `_around` how they are made.
    """

    _has_exact: ClassVar[bool] = True

    def band(
        self,
        level: float = LEVEL,
        simultaneous: bool = True,
        points: ArrayLike | None = None,
        of: Of | None = None,
        exact: bool = False,
        variance: Variance | None = None,
    ) -> Band:
        """Band around what was published.

        Parameters
        ----------
        level : float
            Probability of the band, between 0 and 1.
        simultaneous : bool
            Whether it is for all points at once, or for each point by itself.
        points : array (q,), or (q, d) in d dimensions; optional
            Where; by default 201 points of an interval and the grid, or about 400 of a box.
        of : {"noise", "sample", "population"}, optional
            What it is a band for: the same estimate without noise; what an unlimited budget would
            publish of these units; or the function of the population that they are a sample of. By
            default the first of those that this release states: see ``facts.bands``.
        exact : bool
            For of="noise": the band as the law of the noise gives it, around what was measured. The
            published function may leave it; else it is widened where that does, and cut at public
            bounds.
        variance : float or callable, optional
            For of="population": variance of a unit's value, of a residual in a regression, known to be
            public, in squared units of the data; a function of points, too, such as another release.
            By default the largest one that the public bounds allow.

        Raises
        ------
        ParameterError
            If the release states no such band, or a parameter is unusable.
        """
        request = checked(self, level, simultaneous, of, exact)
        at = self._read(as_given(self._band_points()) if points is None else points)[0]
        if not len(at):
            raise ParameterError("points", "be at least one for a band", "none")
        if request.of == "population":
            return self._around_population(at, request, variance)
        if variance is not None:
            raise ParameterError("variance", "be for $of", shown(variance), of="population")
        return self._around(at, request)

    def _around(self, at: Floats, request: Asked) -> Band:
        """The band that is asked for, by what has been checked."""
        raise NotImplementedError

    def _around_population(self, at: Floats, request: Asked, variance: Variance | None) -> Band:
        """The band for the population; by default its variance is from the release itself."""
        if variance is not None:
            words = "be left out: that of sampling is taken from what was released"
            raise ParameterError("variance", words, shown(variance))
        return self._around(at, request)


class OfPoints(Release):
    """A release of one function of points; a kind says its values in `_values`."""

    @overload
    def __call__(self, points: float) -> float: ...

    @overload
    def __call__(self, points: ArrayLike) -> Floats: ...

    def __call__(self, points: ArrayLike) -> float | Floats:
        """Values of the function.

        Parameters
        ----------
        points : float or array (q,)
            Points of the domain; in d dimensions an array (q, d) or (d,).

        Returns
        -------
        float or array (q,)
            Values, in their units; cut at public bounds where there are any.

        Raises
        ------
        ParameterError
            If a point is outside the domain, or has another number of coordinates.
        """
        return self._at(self._values, points)

    def _at(self, function: Callable[[Floats], Floats], points: ArrayLike) -> float | Floats:
        """Values of a function at points of the domain: a number at a single one."""
        at, single = self._read(points)
        values = function(at)
        return float(values[0]) if single else values

    def _values(self, at: Floats) -> Floats:
        """Values (q,) at points that have been checked."""
        raise NotImplementedError


class Valued(OfPoints, Banded):
    """The same with a band."""
