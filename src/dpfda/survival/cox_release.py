"""A released model of hazards: ratios of covariates with intervals, and survival curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.corners import Covariate, Covariates, place_words, whole_place
from dpfda.bases.grids import frozen
from dpfda.bases.lifetimes import LifeCells
from dpfda.noise import NoiseLaw
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, label, probability, real
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import Claim, EqualityTest, Estimate, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares
from dpfda.survival.cox_rounds import Rounds
from dpfda.survival.cox_table import Combinations
from dpfda.survival.curve import OnTime
from dpfda.survival.lifetables import bent_within
from dpfda.survival.proportional import EFFECT_SPREAD, REACH, VERSION, Model, Posterior
from dpfda.views import Curve

DRAWS = 2000
# Places in each cell of time where an interval of a quantile looks at the band.
WITHIN = 21
TABLE, ROUNDS = "table", "rounds"
STATED: tuple[Of, ...] = ("population", "noise")
BOUND = "one follow-up a unit, covariates between their bounds"
# From this part of its deviation beforehand on little is said to be known of a ratio.
WEAK = 0.4


@dataclass(frozen=True, eq=False)
class ReleasedCox(OnTime):
    """Proportional hazards, published with noise: hazard ratios, and survival curves.

    Call it for the survival function at some values of the covariates: in the middle of the bounds of
    numbers and at the first levels, or where `at` says. ``release["age"]`` is a hazard ratio.

    Parameters
    ----------
    cells : LifeCells
        Public cells of time.
    terms : Covariates
        Public covariates with a hazard ratio.
    strata : tuple of Covariate
        Public covariates of which each combination has a baseline of its own.
    method : {"table", "rounds"}
        How it was measured.
    noisy_sum : tuple of int
        The mechanism's output.
    noise : NoiseLaw
        Of the table, or of each round.
    certificate : Certificate
        What it promises to whom, and what it cost.
    public_size : int or None
        Public number of units that count.
    about : mapping
        Versions, date, labels.
    place : mapping
        Values of covariates whose survival curve it is called for.
    version : int or None
        Of the estimate; None for the first.
    """

    cells: LifeCells = field(metadata=file.itself(LifeCells.from_json).kept)
    terms: Covariates = field(metadata=file.itself(Covariates.from_json).named("covariates").kept)
    strata: tuple[Covariate, ...] = field(
        metadata=file.entry(
            lambda written: Covariates.from_json(written).covariates if written else (),
            lambda strata: [each.to_json() for each in strata],
        ).kept
    )
    method: str = field(
        metadata=file.entry(lambda method: choice(method, "method", (TABLE, ROUNDS))).kept
    )
    noisy_sum: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)
    certificate: Certificate
    public_size: int | None = field(default=None, metadata=file.PUBLIC_SIZE.kept)
    about: Mapping[str, object] = field(default_factory=dict)
    place: Mapping[str, object] = field(default_factory=dict, metadata=file.MAPPING.kept)
    version: int | None = field(
        default=None, metadata=file.whole_number(2, VERSION).or_absent.named("estimate").kept
    )

    _FORMAT: ClassVar[str] = "dpfda-cox"
    _CALLED: ClassVar[str] = "model of hazards"
    _has_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        counted = self._combinations.cells if self.method == TABLE else self._rounds.numbers
        if len(self.noisy_sum) != counted:
            raise ParameterError("noisy_sum", f"be {counted} integers", len(self.noisy_sum))
        self._terms_at(self.place)

    # The model.

    @cached_property
    def model(self) -> Model:
        """What hazards are a product of."""
        return Model(self.cells, self.terms, self.strata)

    @cached_property
    def _combinations(self) -> Combinations:
        return Combinations(self.model, self.version or 1)

    @cached_property
    def _rounds(self) -> Rounds:
        guarantee = self.certificate.guarantee
        return Rounds(self.model, guarantee, self.neighbours, self.noise, self.version or 1)

    @cached_property
    def _law(self) -> tuple[Posterior, Floats]:
        """The law of the parameters without noise, and what sampling adds to its covariance."""
        if self.method == ROUNDS:
            return self._rounds.walked(self.noisy_sum).law()
        return self._combinations.estimate(self._table.counts, self._table.deviation)

    @property
    def _table(self) -> NoisyShares:
        """What was counted, by the method of a table."""
        return NoisyShares(self.noisy_sum, self.noise, self.public_size)

    def _covariance(self, of: Of) -> Floats:
        """Covariance of the parameters (P, P) without noise, or of a population's with sampling."""
        posterior, sampling = self._law
        beside = sampling if choice(of, "of", STATED) == "population" else 0.0
        return np.asarray(posterior.covariance + beside)

    # Effects.

    @property
    def effects(self) -> tuple[str, ...]:
        """Names of the terms with a hazard ratio."""
        return self.terms.terms[1:]

    def __getitem__(self, term: str) -> Estimate:
        """The hazard ratio of a term: for one unit of a number, or for a level beside the first."""
        return self.hazard_ratio(term)

    def hazard_ratio(
        self, term: str, change: float = 1.0, level: float = LEVEL, of: Of = "population"
    ) -> Estimate:
        """The hazard ratio of a term, with an interval.

        Parameters
        ----------
        term : str
            One of `effects`.
        change : float
            Of a number, in its units; 10 for ten years of age.
        level : float
            Probability of the interval.
        of : {"population", "noise"}
            What the interval is for: the ratio in a population of which these units are a sample, where
            hazards are proportional; or the same estimate without the noise of privacy.
        """
        place = self.effects.index(label(term, "term", self.effects))
        far = real(change, "change", -1e9, 1e9) / float(self.terms.units[1 + place])
        row = self.model.hazards + place
        spread = math.sqrt(float(self._covariance(of)[row, row]))
        half = scipy.special.ndtri((1 + check_level(level)) / 2) * spread
        middle, reach = far * float(self._law[0].at[row]), abs(far) * half
        low, high = (math.exp(min(log_ratio, 700.0)) for log_ratio in (middle - reach, middle + reach))
        return Estimate(math.exp(min(middle, 700.0)), low, high, level)

    @property
    def hazard_ratios(self) -> dict[str, Estimate]:
        """Hazard ratios of all terms, by name."""
        return {term: self[term] for term in self.effects}

    def test(self, covariate: str, level: float = 0.05) -> EqualityTest:
        """Whether a covariate changes the hazard, for example whether arms differ: a Wald test.

        The hypothesis is about populations: sampling and the known noise are in the law of the
        statistic.

        Parameters
        ----------
        covariate : str
        level : float
            Probability of finding a difference where there is none.
        """
        covariates = {number.name: number for number in self.terms.covariates}
        wanted = covariates[label(covariate, "covariate", [*covariates])]
        rows = [self.model.hazards + self.effects.index(term) for term in wanted.terms]
        effects, covariance = self._law[0].at[rows], self._covariance("population")[np.ix_(rows, rows)]
        statistic = float(effects @ np.linalg.solve(covariance, effects))
        p_value = float(scipy.special.chdtrc(len(rows), statistic))
        null = f"the hazard does not depend on {covariate}"
        compared = wanted.levels or (covariate,)
        return EqualityTest(statistic, p_value, probability(level, "level"), compared, null)

    # Curves.

    def at(
        self, at: Mapping[str, SupportsFloat | str] | None = None, **values: SupportsFloat | str
    ) -> Self:
        """The same release, whose survival curve is that at values of covariates and strata.

        Parameters
        ----------
        at : mapping, optional
            Values by name; those not named are in the middle of their bounds, or the first level.
        **values
            The same, as words.

        Raises
        ------
        ParameterError
            If a value is outside the bounds, or no level.
        """
        if not isinstance(at, Mapping | None):
            raise ParameterError("at", "be a mapping such as {'age': 70}", type(at).__name__)
        point = {**(at or {}), **values}
        self._terms_at(point)
        numbers = {covariate.name for covariate in self.terms.covariates if covariate.bounds is not None}
        place = {k: float(v) if k in numbers else str(v) for k, v in point.items()}
        release = replace(self, place=place)
        # It is the law of the same parameters wherever it is looked at.
        vars(release)["_law"] = self._law
        return release

    def _terms_at(self, place: Mapping[str, object]) -> Floats:
        """Terms (d,) at values of covariates; strata are checked."""
        own = {stratum.name: stratum for stratum in self.strata}
        for name in own.keys() & place.keys():
            own[name].at(place[name])
        return self.terms.point({k: v for k, v in place.items() if k not in own})[1:]

    def _hazards(self, parameters: Floats) -> Floats:
        """Hazards (.., J), each for its whole cell, of parameters (.., P) at the place."""
        first = self.model.stratum({k: str(v) for k, v in self.place.items()}) * self.cells.count
        cells = slice(first, first + self.cells.count)
        reached = parameters[..., self.model.hazards :] @ self._terms_at(self.place)
        return np.exp(parameters[..., cells] + np.clip(reached, -REACH, REACH)[..., None])

    def _exposures(self, at: Floats) -> Floats:
        """Shares (q, J) of the cells that lie before times."""
        edges = self.cells.edges
        return np.clip((self.cells.settled(at)[:, None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)

    def _values(self, at: Floats) -> Floats:
        return np.asarray(np.exp(-self._exposures(at) @ self._hazards(self._law[0].at)))

    def cumulative_hazard(self, points: ArrayLike) -> float | Floats:
        """Integral of the hazard up to times, at the place."""
        return self._at(lambda at: -np.log(np.maximum(self._values(at), 1e-300)), points)

    def hazard(self, points: ArrayLike) -> float | Floats:
        """Rate of events, for one unit of time, of those still without one, at the place."""
        edges = self.cells.edges
        rates = self._hazards(self._law[0].at) / np.diff(edges)
        return self._at(lambda at: rates[np.searchsorted(edges[1:-1], at, "right")], points)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band for the survival function at the place, within [0, 1].

        Notes
        -----
        By draws of the parameters from their normal law given what was released. Of the noise it is for
        the same model fitted without noise; of the population it has sampling, by the information, as
        well, and assumes that hazards are proportional and that the course is smooth within a cell of
        time, as the band of a survival curve does.
        """
        edges = self.cells.edges
        every = np.concatenate([at, edges])
        line, exposures = self._values(every), self._exposures(every)
        errors = np.abs(np.exp(-self._drawn_hazards(asked.of or "population") @ exposures.T) - line)
        band = band_from_errors(line, errors, asked.level, asked.simultaneous, frozen(every))
        lower, upper = band.lower[: at.size], band.upper[: at.size]
        if asked.of != "noise":
            hidden, changed = self._hidden(at), self.cells.settled(at)
            # A curve that does not increase is nowhere beyond the edges of its cell.
            least = band.lower[at.size :][np.searchsorted(edges, changed)]
            most = band.upper[at.size :][np.searchsorted(edges, changed, "right") - 1]
            lower = np.maximum(lower - hidden, np.minimum(lower, least))
            upper = np.minimum(upper + hidden, np.maximum(upper, most))
        band = replace(band, points=frozen(at), lower=lower, upper=upper)
        return settled(band, line[: at.size], (0.0, 1.0))  # type: ignore[arg-type]

    def _hidden(self, at: Floats) -> Floats:
        """How far (q,) the curve may be from what is published inside cells, where it is smooth."""
        edges = self.cells.edges
        return bent_within(self._values(edges), edges, self.cells.settled(at))

    def _drawn_hazards(self, of: Of) -> Floats:
        """Hazards (DRAWS, J) of cells at the place, by the law of the parameters; always the same."""
        generator = np.random.Generator(np.random.Philox(key=0))
        law = self._law[0].at, self._covariance(of)
        drawn = generator.multivariate_normal(*law, DRAWS, check_valid="ignore", method="eigh")
        return self._hazards(drawn)

    def quantile(self, share: float = 0.5, level: float = LEVEL, of: Of = "population") -> Estimate:
        """Time by which a share has had an event at the place; infinite where the last comes first.

        Parameters
        ----------
        share : float
        level : float
            Probability of the interval.
        of : {"population", "noise"}
            What the interval is for, as in `hazard_ratio`. That of the population allows for what the
            inside of a cell hides: of a steep course times are known to the cell alone.
        """
        wanted = -math.log1p(-probability(share, "share"))
        hazards = np.vstack([self._hazards(self._law[0].at), self._drawn_hazards(of)])
        risen = np.cumsum(np.column_stack([np.zeros(len(hazards)), hazards]), axis=1)
        edges = self.cells.edges
        crossed = [np.interp(wanted, cumulated, edges, right=np.inf) for cumulated in risen]
        value, *drawn = self.cells.reached(np.array(crossed)).tolist()
        estimate = Estimate.around(value, np.array(drawn), check_level(level))
        if of == "noise":
            return estimate
        # When in a cell the height is crossed has nothing to do with noise and sampling.
        at = np.linspace(edges[:-1], edges[1:], WITHIN, axis=1)
        line, hidden = (curve(at.ravel()).reshape(at.shape) for curve in (self._values, self._hidden))
        least = np.maximum(line - hidden, line[:, -1:]).ravel()
        most = np.minimum(line + hidden, line[:, :1]).ravel()
        first, last = (int(np.argmax(np.append(end, 0.0) <= 1 - share)) for end in (least, most))
        first, last = at.ravel()[max(first - 1, 0)], np.append(at, np.inf)[last]
        if math.isinf(value):
            return replace(estimate, lower=min(estimate.lower, first))
        lower = value - math.hypot(value - estimate.lower, value - first)
        upper = value + math.hypot(estimate.upper - value, last - value)
        return replace(estimate, lower=max(lower, float(edges[0])), upper=upper)

    def median(self, level: float = LEVEL, of: Of = "population") -> Estimate:
        """Median time without an event at the place; see `quantile`."""
        return self.quantile(0.5, level, of)

    @property
    def shown(self) -> dict[str, Self]:
        """What a picture of it shows: the curve at the ends or levels of the first covariate."""
        first = self.terms.covariates[0]
        ends = first.levels if first.bounds is None else first.bounds
        curves = [self] if self.place else [self.at({first.name: end}) for end in ends]
        return {curve._where: curve for curve in curves}

    # Its file.

    def _stated_bound(self) -> dict[str, object]:
        return {"description": BOUND}

    def _added_noise(self) -> list[AddedNoise]:
        if self.method == TABLE:
            return self._table._added_noise(self.neighbours)
        return [AddedNoise(self.noise, "l2", self._rounds.width)]

    # Tables, pictures and words.

    def view(self, level: float | None = LEVEL) -> Curve:
        lines = [curve._line(name, level) for name, curve in self.shown.items()]
        return self._curve(lines, baseline=0.0)

    @property
    def _subject(self) -> str:
        which = f"at {place_words(self.place)}" if self.place else "by covariates"
        return f"survival curve {which}"

    @property
    def _where(self) -> str:
        return whole_place((*self.terms.covariates, *self.strata), self.place)

    def _claims(self) -> tuple[Claim, ...]:
        persons = several(self.unit)
        who = f"a population of which these {persons} are a sample, if hazards are proportional"
        # A band is for the curve at one place, and neither for the ratios nor for other values.
        units = f"in shares of {persons}, at {self._where}"
        population = Claim(
            "population", f"the survival curve of {who}", units,
            legend="the population's curve", among="samples",
        )  # fmt: skip
        return population, Claim("noise", "the same model without noise", units)

    def _stated(self) -> Stated:
        covariates = ", ".join(covariate.describe() for covariate in self.terms.covariates)
        strata = ", ".join(stratum.describe() for stratum in self.strata)
        apart = f", with a baseline for each of {strata}" if strata else ""
        tested = {c.name: str(self.test(c.name)) for c in self.terms.covariates if c.levels}
        ratios = self.hazard_ratios
        return Stated(
            f"How the hazard of an event over {self._spoken_domain} depends on {covariates}{apart}: "
            "hazard ratios, and the survival curve at any values, from a model of proportional hazards.",
            public=self._public_facts,
            noise=self._noise_words,
            first=self._weak,
            bounded=["Covariates outside their bounds count as the nearest end."],
            remarks=[
                f"Hazard ratio of {self._change(term)}: {ratio}, with sampling."
                for term, ratio in ratios.items()
            ]
            + [f"{name}: {text}." for name, text in tested.items()]
            + ["That hazards are proportional is assumed, and a ratio is no statement on causes."],
            numbers={
                "covariates": self.terms.to_json(),
                "hazard_ratios": {term: ratio.to_json() for term, ratio in ratios.items()},
            },
            findings={f"ratio {term}": str(ratio) for term, ratio in ratios.items()} | tested,
        )

    @property
    def _weak(self) -> list[str]:
        """What to know first, where a ratio follows what was taken for likely beforehand."""
        deviations = np.sqrt(np.diag(self._covariance("population")))[self.model.hazards :]
        pairs = zip(self.effects, deviations, strict=True)
        weak = [term for term, deviation in pairs if deviation > WEAK * EFFECT_SPREAD]
        words = (
            f"Little is known of the hazard ratio of {', '.join(weak)}: it is drawn towards one, and a "
            "large one may lie outside its interval. The cause may be much noise, levels of few "
            f"{several(self.unit)}, bounds far beyond what occurs, or covariates that go together."
        )
        return [words] if weak else []

    def _change(self, term: str) -> str:
        covariate = next(c for c in self.terms.covariates if term in c.terms)
        return f"{term} beside {covariate.levels[0]}" if covariate.levels else f"one unit of {term}"

    @property
    def _noise_words(self) -> str:
        """How the noise was made."""
        noise = f"{self.cells.describe()}; {self.noise.describe()}"
        if self.method == TABLE:
            return f"{self._combinations.size} combinations of covariates, {noise}"
        return f"{self._rounds.count} rounds of noisy sums over {noise}"

    def _lines(self) -> dict[str, str]:
        return {"covariates": self.terms.describe(), "cells": self.cells.describe()}
