"""A plan: what would be published, of whom, at what price and how exactly, from public numbers alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from dpfda.bases.ordinary import MOST_WORDS, Outlook
from dpfda.numerics.errors import Kept, ParameterError
from dpfda.numerics.parameters import probability, real, whole
from dpfda.numerics.words import several, visible
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, ZeroConcentratedDP, checked_guarantee
from dpfda.privacy.words import number
from dpfda.publication.needed import LEVEL, ROWS, Wanted, factors, times, with_epsilon
from dpfda.views import Curve, Line

PlanType = TypeVar("PlanType", bound="Plan")
Total = TypeVar("Total")
Number = float | None
Rows = list[dict[str, Number]]

# Least numbers are looked for so closely: where errors are those of few simulated releases, less so.
CLOSE, CLOSE_SIMULATED = 0.01, 0.03


class Plan(ABC):
    """The public side of a release: all but the data. Base of the plans of all summaries.

    An estimator makes one from its parameters, the columns and the number of units, and hands it down:
    whatever reads, sums, charges or draws knows the plan and not the estimator. `PrivateMean.plan` and
    the like give one to look at before there are data.

    Attributes
    ----------
    guarantee : Guarantee
        Of the whole release.
    neighbours : Neighbours
    unit : str
        Who is protected.
    size : int or None
        Public number of units, or public divisor; None where it is private.
    bounded : mapping
        The public bound on one unit: its description, and its numbers where it has any.
    about : mapping
        Name of the summary, labels and units of the axes.

    Examples
    --------
    >>> from dpfda import PrivateMean
    >>> plan = PrivateMean(1.0, bounds=(0, 1)).plan(n=500, columns=48)
    >>> plan.error < 0.05, plan.at(epsilon=0.5).error > plan.error
    (True, True)
    """

    guarantee: Guarantee
    neighbours: Neighbours
    unit: str
    size: int | None
    bounded: Mapping[str, object]
    about: Mapping[str, object]
    # A number of units to expect, where it is private.
    expected_size: int | None = None
    # Whether expected errors are those of few simulated releases, and of fewer where it is to be quick.
    simulated: ClassVar[bool] = False
    # What the band is called, where there are several.
    band_called: ClassVar[str] = "band"

    @property
    @abstractmethod
    def functions(self) -> str:
        """What the published function consists of, in words."""

    @property
    @abstractmethod
    def tuning(self) -> Mapping[str, object]:
        """Name of the mechanism and its public tuning, as they are known before the charge."""

    @abstractmethod
    def costs(self) -> dict[str, Cost]:
        """What each stage of the release costs."""

    @property
    def summary(self) -> str:
        """What would be published."""
        return str(self.about.get("summary", "function"))

    def certified(self) -> Certificate:
        """The certificate of the release, which is about to be charged."""
        return Certificate.charged(self.costs(), self.neighbours, self.unit, self.bounded, self.tuning)

    def entry(self) -> dict[str, object]:
        """Public description of the release for the ledger's history."""
        return {
            "summary": self.summary,
            "neighbours": str(self.neighbours),
            "privacy_unit": self.unit,
            "bound": self.bounded["description"],
            "basis": self.functions,
            "mechanism": self.tuning["name"],
        }

    # What to expect.

    @property
    def n(self) -> int | None:
        """Number of units that errors are expected for."""
        return self.expected_size if self.size is None else self.size

    def outlook(self, quick: bool = False) -> Outlook | None:
        """Error at a point, typically and for most; `quick`, perhaps from fewer simulated releases."""
        return None

    @property
    def error(self) -> float | None:
        """Root mean square error at a point that is to be expected, in the units of the function.

        What it is the error from, `error_words` says; None where none can be stated.
        """
        outlook = self.outlook()
        return None if outlook is None else outlook.typical

    @property
    def error_words(self) -> str:
        """What the expected error is, or why none is stated."""
        return "no expected error can be stated: it depends on the data; the law of the noise is known"

    @property
    def error_for_most(self) -> float | None:
        """What the error of nine of ten releases is below: `least_epsilon` and `least_n` go by it."""
        outlook = self.outlook()
        return None if outlook is None else outlook.most

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        """Half-width of the default band at a level that has been checked; otherwise as `outlook`."""
        return None

    @property
    def band_words(self) -> str:
        """Why no expected band is stated, where there is none."""
        return "Of this summary no width of a band can be foretold; ask for an error."

    def _band_said(self, level: float) -> str:
        """What the band is called, and what it is for."""
        return f"{100 * level:g}% {self.band_called}"

    def band(self, level: float = LEVEL) -> float | None:
        """Expected half-width of the release's default band, over the domain; None where it has none.

        Parameters
        ----------
        level : float
            Its probability.
        """
        outlook = self.outlook_width(probability(level, "level"))
        return None if outlook is None else outlook.typical

    def band_for_most(self, level: float = LEVEL) -> float | None:
        """What the half-width of nine of ten releases is below; see `error_for_most`."""
        outlook = self.outlook_width(probability(level, "level"))
        return None if outlook is None else outlook.most

    @property
    def scale(self) -> tuple[float, str] | None:
        """What per cent are of, in the units of the function, and what that is called."""
        return None

    @property
    def noise_words(self) -> str:
        """The law of the noise, in words."""
        return str(self.tuning["name"])

    # Other public numbers.

    def at(
        self, n: int | None = None, epsilon: object = None, *, guarantee: Guarantee | None = None
    ) -> Self:
        """The plan for other public numbers.

        Parameters
        ----------
        n : int, optional
            Number of units, or public divisor.
        epsilon : float, optional
            In the place of the guarantee's epsilon; delta stays.
        guarantee : Guarantee, optional
            In the place of the guarantee.

        Raises
        ------
        ParameterError
            If they are unusable.
        """
        if epsilon is not None:
            guarantee = with_epsilon(self.guarantee, epsilon)
        units = self.n if n is None else whole(n, "n", 2)
        if units is None:
            raise ParameterError("n", "be given", "None", "The number of units is private: expect one.")
        return self.remade(self.guarantee if guarantee is None else checked_guarantee(guarantee), units)

    def remade(self, guarantee: Guarantee, n: int) -> Self:
        """The plan for another guarantee and number of units; see `dpfda.publication.planners`."""
        raise NotImplementedError

    def least_epsilon(self, error: Number = None, band: Number = None, level: float = LEVEL) -> float:
        """The least epsilon for which nine of ten releases keep to an error, or to a half-width.

        Parameters
        ----------
        error, band : float
            Exactly one of them, in the units of the function: of `error_for_most`, `band_for_most`.
        level : float
            Of the band.

        Returns
        -------
        float
            Rounded up to three digits.

        Raises
        ------
        ParameterError
            If no epsilon up to 10,000 is enough, or no error can be stated.

        Examples
        --------
        >>> from dpfda import PrivateMean
        >>> plan = PrivateMean(1.0, bounds=(0, 1)).plan(n=500, columns=48)
        >>> plan.at(epsilon=plan.least_epsilon(error=0.03)).error_for_most <= 0.03
        True
        """
        return self._wanted(error, band, level).least_epsilon(self.guarantee, self.n)

    def least_n(self, error: Number = None, band: Number = None, level: float = LEVEL) -> int:
        """The least number of units for which nine of ten releases keep to an error or a half-width.

        Parameters and errors as in `least_epsilon`; up to 10^9 units.
        """
        return self._wanted(error, band, level).least_units(self.guarantee, self.n)[0]

    def between(self, error: Number = None, band: Number = None, level: float = LEVEL) -> Rows:
        """The least numbers of units for budgets from a quarter of this one to four times it.

        Parameters and errors as in `least_epsilon`.

        Returns
        -------
        list of dict
            "epsilon" (or "rho") and "least_n", which is None where 10^9 units are not enough.

        Examples
        --------
        >>> from dpfda import PrivateMean
        >>> plan = PrivateMean(1.0, bounds=(0, 1)).plan(n=500, columns=48)
        >>> [row["epsilon"] for row in plan.between(error=0.03)]
        [0.25, 0.5, 1.0, 2.0, 4.0]
        """
        return self._wanted(error, band, level).table(self.guarantee, self.n)

    def _wanted(self, error: Number, band: Number, level: float) -> Wanted:
        """What most releases are to keep to. Raises ParameterError if it is unusable."""
        if (error is None) == (band is None):
            count = "none" if error is None else "both"
            raise ParameterError("error", "be given, or band, and not both", count)
        name = "error" if band is None else "band"
        wanted = real(error if band is None else band, name, 1e-100, 1e100)
        probability(level, "level")

        @lru_cache(maxsize=1)
        def at(guarantee: Guarantee, n: int | None) -> Plan:
            # A quick look at a plan and a full one share what they try.
            return self.at(n=n, guarantee=guarantee)

        @cache
        def ratio(guarantee: Guarantee, n: int | None, quick: bool) -> float:
            if quick and not (self.simulated or band is not None):
                return ratio(guarantee, n, False)
            try:
                plan = at(guarantee, n)
            except ParameterError:
                if n is None:
                    raise
                # A budget so small, or so few units, that what is asked for cannot be published at all.
                return math.inf
            outlook = plan.outlook(quick) if band is None else plan.outlook_width(level, quick)
            if outlook is None:
                words = self.error_words if band is None else self.band_words
                raise ParameterError(name, "be one that can be stated", "none", words)
            return outlook.most / wanted

        return Wanted(name, wanted, ratio, CLOSE_SIMULATED if self.simulated else CLOSE)

    # In words, numbers and pictures.

    def facts(self) -> dict[str, str]:
        """What is planned, by what each fact is called."""
        return {
            "guarantee": str(self.guarantee),
            "protects": self.neighbours.describe(self.unit),
            "bound": str(self.bounded["description"]),
            "functions": self.functions,
            "mechanism": self.noise_words,
        }

    def prospects(self, level: float = LEVEL) -> dict[str, str]:
        """As `facts`, with the error that is to be expected, and the band where there is one.

        Parameters
        ----------
        level : float
            Probability of the band.

        Examples
        --------
        >>> from dpfda import PrivateMean
        >>> plan = PrivateMean(1.0, bounds=(0, 1)).plan(n=500, columns=48)
        >>> print(plan.prospects()["protects"])
        data sets that differ in one record (the number of records is public)
        """
        band = self.outlook_width(probability(level, "level"))
        facts = self.facts() | {"error": self._told_error}
        if band is not None:
            named = self._band_said(level)
            facts["band"] = f"half-width {_in_words(band)} to be expected of the {named}"
        return facts

    def describe(self, level: float = LEVEL) -> str:
        """The plan in words."""
        lines = [f"Plan: {self.summary}, {self._units}; no data were read."]
        facts = self.prospects(level)
        return "\n".join(lines + [f"  {name + ':':<11} {fact}" for name, fact in facts.items()])

    __str__ = describe

    def __repr__(self) -> str:
        what = f"{self.summary}, {self._units}, {self.guarantee}"
        return f"<{type(self).__name__}: {what}; print it for more>"

    @property
    def _units(self) -> str:
        who = several(self.unit)
        return f"{self.n} {who}" if self.n else f"{who}, whose number is private"

    @property
    def _told_error(self) -> str:
        outlook = self.outlook()
        return self.error_words if outlook is None else f"{_in_words(outlook)}: {self.error_words}"

    def to_json(self, level: float = LEVEL) -> dict[str, object]:
        """Facts and what is to be expected, as JSON types."""
        return {
            "summary": self.summary,
            "units": self.n,
            **self.facts(),
            "expected_error": self.error,
            "error_for_most": self.error_for_most,
            "error": self.error_words,
            "expected_band": self.band(level),
            "band_for_most": self.band_for_most(level),
            "band_level": level,
        }

    def rows(self, quick: bool = True) -> Rows:
        """Expected errors from an eighth of the budget to eight times it, at this number of units."""
        rows = []
        for factor in factors(ROWS):
            plan = self.at(guarantee=times(self.guarantee, factor))
            budget, outlook = getattr(plan.guarantee, plan.guarantee.terms[0]), plan.outlook(quick)
            error = None if outlook is None else outlook.typical
            rows.append({"epsilon": float(budget), "error": error})
        return rows

    @property
    def error_axis(self) -> str:
        """What the expected error is of, with its units: the label of an axis."""
        return f"error at a point ({self.about.get('value', 'units of the function')})"

    def view(self) -> Curve:
        """The expected error against the budget.

        Raises
        ------
        ParameterError
            If no error can be stated.
        """
        rows = self.rows()
        errors = [row["error"] for row in rows]
        if any(error is None for error in errors):
            raise ParameterError("plan", "have an expected error to be drawn", "none", self.error_words)
        line = Line(np.array([row["epsilon"] for row in rows]), np.array(errors), "expected error")
        of = "rho" if isinstance(self.guarantee, ZeroConcentratedDP) else "epsilon"
        axes = f"{of} (smaller is more private)", self.error_axis
        title = f"Expected error: {self.summary}, {self.n} {several(self.unit)}"
        subtitle = "From public numbers alone; no data were read"
        return Curve((line,), *axes, title, subtitle, logarithmic=True)

    def _repr_html_(self) -> str:
        """For notebooks: the facts in a table."""
        from html import escape

        facts = self.facts() | {"expected error": self._told_error}
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(visible(name))}</th>"
            f"<td style='text-align:left'>{escape(visible(fact))}</td></tr>"
            for name, fact in facts.items()
        )
        return f"<table>{rows}</table>"


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Kept, Generic[PlanType, Total]):
    """A plan and the private side that answers it, before anything is charged or drawn.

    plan: Public.
    total: Private: the exact sum; the records, where what is summed follows from an earlier stage.
    """

    plan: PlanType
    total: Total

    def __repr__(self) -> str:
        return f"Prepared({type(self.plan).__name__}, content private)"


def _in_words(outlook: Outlook) -> str:
    """Both numbers, where they differ."""
    typical, most = map(number, outlook)
    return typical if typical == most else f"{typical} (for {MOST_WORDS} up to {most})"
