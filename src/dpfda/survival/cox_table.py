"""Proportional hazards from a table of counts: what is counted, and the estimate. Public.

Where covariates are few, a record is one count: in its combination of strata, levels and parts of the
ranges of numbers, in the cell of time where it ended, and by how. Numbers of events and exposures are
sums of counts, so the gradient of the likelihood, with a number in the middle of its part, is linear in
them, and its noise has a known covariance. The guarantee is that of a table of shares
(`dpfda.noise.shares`): a unit is at most one count in all, so that two units differ by at most two,
however many cells there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.survival.cox_joint import Spread, joined
from dpfda.survival.proportional import REACH, VERSION, Model, Posterior, around

# Parts of the range of a number, by how many numbers there are; and combinations at most.
# Before the fourth version a single number had fewer, of equal width.
PARTS, LARGEST_TABLE, BEFORE = {0: 1, 1: 9, 2: 5, 3: 4, 4: 3}, 288, 8
ROUNDS = 12
# Few events are not weighed by how few they are, which noise decides: variance of noise that counts as
# theirs, in units of that of a count. Units fewer than so many deviations count as hardly any.
STEADY, HARDLY = 0.1, 1.5
# How far numbers inside a part may lead the ratios astray, in units of what their spread there does.
COARSE = 0.4


# Draws of what noise may have made of a table, and their deviation in units of that of its noise.
DRAWS, MAY_BE = 16, 1.4


@dataclass(frozen=True, eq=False)
class Layout:
    """What a table tells of covariates, and of those censored.

    terms: array (R, d). Where the covariates of a combination are.
    within: array (d, d). Their mean covariance there.
    rooms: Of each number, by its place among covariates, how far means of parts may be from there.
    lived: array (S or 1, each, J). Share of each cell of time that a follow-up with an exit covers.
    """

    terms: Floats
    within: Floats
    rooms: Mapping[int, Floats]
    lived: Floats


@dataclass(frozen=True)
class Combinations:
    """The combinations of covariates that are counted apart. Public.

    Parameters
    ----------
    model : Model
    version : int
        By which parts are.
    """

    model: Model
    version: int = VERSION

    def __post_init__(self) -> None:
        if len(self._columns) not in PARTS or self.size > LARGEST_TABLE:
            raise ParameterError(
                "covariates",
                f"have at most {LARGEST_TABLE} combinations of levels and parts of numbers in a table",
                f"{self.size if len(self._columns) in PARTS else 'more than four numbers'}",
                "Set delta (for example 1e-6) or rho, which take any number; or leave some out.",
            )

    @cached_property
    def _columns(self) -> dict[int, int]:
        """Which covariates are numbers, and which of the terms each of these is."""
        covariates = self.model.terms.covariates
        first = np.cumsum([0, *(len(covariate.terms) for covariate in covariates)]).tolist()
        return {axis: first[axis] for axis, own in enumerate(covariates) if own.bounds is not None}

    @cached_property
    def _edges(self) -> Floats:
        """Ends of the parts of a number: what is nearest to one of equal steps, bounds among them.

        So whole numbers, and the many that may lie on a bound, are where they are taken to be.
        """
        count = len(self._columns)
        parts = PARTS[count]
        if self.version < 4:
            return np.linspace(-1.0, 1.0, (BEFORE if count == 1 else parts) + 1)
        return np.concatenate([[-1.0], (2 * np.arange(parts - 1) + 1) / (parts - 1) - 1, [1.0]])

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """Number of parts or levels of each covariate."""
        covariates = enumerate(self.model.terms.covariates)
        parts = self._edges.size - 1
        return tuple(parts if axis in self._columns else own.ends for axis, own in covariates)

    @property
    def size(self) -> int:
        """Number of combinations, strata among them."""
        return self.model.baselines * int(np.prod(self._shape, dtype=np.int64))

    @property
    def cells(self) -> int:
        """Number of all counts."""
        return self.size * self.model.cells.each

    def _mean(self, persons: Floats, terms: Floats, deviation: float) -> Floats:
        """Means (d,) of terms (R, d) over noisy numbers of units (R,), drawn towards even ones."""
        usual, root = self.model.moments[0], np.sqrt(np.diag(self.model.moments[1]))
        total, noise = max(float(persons.sum()), 1.0), deviation * self.cells**0.5
        factor = total**2 / (total**2 + noise**2)
        far = 2 * root
        return np.asarray(usual + factor * np.clip(persons @ terms / total - usual, -far, far))

    def _heaped(
        self, expected: Floats, terms: Floats, effects: Floats, rooms: Mapping[int, Floats]
    ) -> Floats:
        """What the gradient (P, parts of all numbers) may lack where means of parts are elsewhere.

        expected: array (S, R, J). Of events, with terms (R, d); and `rooms` of the parts of numbers.
        """
        columns, parts = [], np.indices(self._shape).reshape(len(self._shape), -1)
        for axis, room in rooms.items():
            for part, far in enumerate(room * effects[self._columns[axis]]):
                moved = expected * ((parts[axis] == part) * far)[:, None]
                cells, slopes = moved.sum(axis=1).ravel(), np.einsum("srj,rk->k", moved, terms)
                columns.append(np.concatenate([cells, slopes]))
        return np.array(columns).reshape(-1, self.model.parameters).T

    def places(self, columns: Sequence[Floats | Integers], strata: Integers) -> Integers:
        """Combination (n,) of each record, from scaled numbers and places of levels."""
        place, inner = strata.astype(np.int64), self._edges[1:-1]
        for axis, (parts, column) in enumerate(zip(self._shape, columns, strict=True)):
            own = np.searchsorted(inner, column, "right") if axis in self._columns else column
            place = place * parts + np.clip(own, 0, parts - 1).astype(np.int64)
        return place

    @cached_property
    def _lived(self) -> Floats:
        """Share of each cell of time (J,) that a follow-up with an exit (each,) covers, on average."""
        cells = self.model.cells
        count = cells.count
        halves = np.tril(np.ones((count, count)), -1) + np.eye(count) / 2
        censored = cells.spread(np.eye(cells.coarse)) @ halves
        return frozen(np.concatenate([*[halves] * len(cells.causes), censored, np.ones((1, count))]))

    def _lived_by(self, counts: Floats, deviation: float) -> Floats:
        """As `_lived`, (S, each, J), where all leave a cell of censoring at one rate, which counts tell.

        Where many are censored most of them leave at its beginning, and fewer are at risk after that.
        """
        cells, lived = self.model.cells, np.tile(self._lived, (len(counts), 1, 1))
        wide = -1, cells.coarse, cells.ratio
        last = len(cells.causes) * cells.count
        left = (counts @ self._died).reshape(wide).sum(axis=-1) + counts[:, last : cells.exits - 1]
        added = np.cumsum(np.append(1.0, np.full(cells.coarse, len(cells.causes) * cells.ratio + 1.0)))
        noise = deviation * (self.size // self.model.baselines * added[::-1]) ** 0.5
        risk = np.cumsum(np.column_stack([left, counts[:, -1:]])[:, ::-1], axis=1)[:, ::-1]
        risk = np.minimum.accumulate(np.maximum(risk, noise), axis=1)
        rates = np.repeat(-np.diff(np.log(risk)), cells.ratio, axis=1) * cells.portions
        rates = np.maximum(rates, 1e-6)
        stayed = np.exp(-np.cumsum(rates.reshape(wide), axis=-1)).reshape(rates.shape)
        # Whole steps of time are left at their beginning, and nobody is followed for no time at all.
        first = 1 - cells.steps[0]
        shares = stayed * np.expm1(rates) * np.append(first, np.ones(cells.count - 1))
        shares = shares.reshape(wide)
        shares = (shares / shares.sum(axis=-1, keepdims=True)).reshape(rates.shape)
        before = np.tril(np.ones((cells.count, cells.count)), -1)
        inside = _until_event(rates) - cells.steps * _until_event(cells.steps * rates)
        inside[:, 0] /= max(first, cells.steps[0])
        for place in range(cells.coarse):
            here = shares * (np.arange(cells.count) // cells.ratio == place)
            lived[:, last + place] = here @ before + here * inside
        return lived

    @cached_property
    def _died(self) -> Floats:
        """Which exits (each,) are events of each cell (J,), of any cause."""
        cells = self.model.cells
        rest = np.zeros((cells.coarse + 1, cells.count))
        return frozen(np.concatenate([*[np.eye(cells.count)] * len(cells.causes), rest]))

    def estimate(self, counts: Floats, deviation: float) -> tuple[Posterior, Floats]:
        """The law of the parameters given noisy counts, and what sampling adds to its covariance.

        Where hazards are high few are left, and the noise in how many would drown all else: a cell of a
        combination has the weight that sampling has in its variance. Weights hardly depend on the noise
        in the cell, so that the weighted gradient still has mean zero at the truth.

        Parameters
        ----------
        counts : array (cells,)
        deviation : float
            Of the noise in each.
        """
        model = self.model
        table = counts.reshape(model.baselines, -1, model.cells.each)
        layout = self._layout(table, deviation)
        events, exposed = (table @ matrix for matrix in (self._died, layout.lived))
        root = table.shape[1] ** 0.5
        seen, spent = (
            deviation * root * float(np.sqrt(np.sum(matrix**2, axis=0)).max())
            for matrix in (self._died, self._lived)
        )
        mean = self._mean(table.sum(axis=(0, 2)), layout.terms, deviation)
        start = model.start(events.sum(axis=1).ravel(), exposed.sum(axis=1).ravel(), (seen, spent), mean)

        def led(before: Posterior, place: Floats, steps: int) -> Floats:
            for _ in range(steps):
                gradient, noise, information, *_ = self._slope(table, table, layout, place, deviation)
                place = before.seen(place, gradient, information, noise).at
            return place

        at = led(start, start.at, ROUNDS)
        # Intervals are of laws under looser priors, at the place to which these lead.
        place = led(start.loosened(model.effects), at, ROUNDS // 2)
        generator, laws = np.random.Generator(np.random.Philox(key=6)), []
        for _ in range(DRAWS):
            moved = table + MAY_BE * deviation * generator.standard_normal(table.shape)
            layout = self._layout(moved, deviation)
            slope = self._slope(table, moved, layout, place, deviation)
            gradient, noise, information, sampling, lacking = slope
            law = start.seen(place, gradient, information, noise)
            spread = information @ np.linalg.solve(sampling, information)
            laws.append((law, spread, lacking))
        return around(model, at, laws, start)

    def _slope(
        self, table: Floats, other: Floats, layout: Layout, at: Floats, deviation: float
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The gradient (P,) of a table (S, R, each) at parameters, and the covariance of its noise.

        Also the information of another table, that of squared weights, and columns of what the gradient
        may lack, by how covariates lie within parts.
        """
        model, terms, lived = self.model, layout.terms, layout.lived
        hazards = np.exp(at[: model.hazards]).reshape(model.baselines, 1, -1)
        effects = at[model.hazards :]
        factor = np.exp(np.clip(terms @ effects, -REACH, REACH))[:, None]
        rates = hazards * factor
        # Of one count in the gradient: (S, R, each, J).
        moved = self._died - rates[..., None, :] * lived[:, None]
        noise = deviation**2 * np.sum(moved**2, axis=-2)
        weights = self._weights(table, table @ lived, rates, noise, deviation)
        # Who has an event in a cell has it early where hazards are high.
        early = _until_event(rates) - 0.5
        events = table @ self._died
        rest = weights * (events - rates * (table @ lived + events * early))
        expected = weights * rates * (other @ lived + other @ self._died * early)
        gradient = np.concatenate([rest.sum(axis=1).ravel(), np.einsum("srj,rk->k", rest, terms)])
        noise = deviation**2 * self._products(weights[..., None, :] * moved, terms)
        rough = np.sqrt(np.diag(noise))
        deviations = np.array([*[rough[: model.hazards].mean()] * 2, rough[-1]])
        # What covariances are of may not be drawn towards even covariates: it would be too sure.
        even = table is other
        information = self._information(expected, terms, deviations, even)
        sampling = self._information(weights * expected, terms, deviations, even)
        unseen = np.zeros((model.parameters, 1))
        unseen[model.hazards :, 0] = COARSE * expected.sum() * layout.within @ effects
        lacking = np.column_stack([unseen, self._heaped(expected, terms, effects, layout.rooms)])
        return gradient, noise, information, sampling, lacking

    def _layout(self, table: Floats, deviation: float) -> Layout:
        """Covariates and censoring, as noisy counts (S, R, each) show them."""
        persons = table.sum(axis=(0, 2)).reshape(self._shape)
        every, spreads = range(persons.ndim), {}
        for axis in self._columns:
            numbers = persons.sum(axis=tuple(other for other in every if other != axis))
            least = deviation * (self.cells / numbers.size) ** 0.5
            spreads[axis] = Spread(np.maximum(numbers, least), self._edges)
        columns = [
            spreads[axis].centres[:, None] if axis in spreads else np.eye(levels)[:, 1:]
            for axis, levels in enumerate(self._shape)
        ]
        terms = np.array([np.concatenate(rows) for rows in itertools.product(*columns)])
        first, within = [*self._columns.values()], np.zeros((self.model.effects,) * 2)
        within[first, first] = np.sum(np.diff(self._edges) ** 3) / 24
        if len(first) > 1:
            numbers = persons.sum(axis=tuple(axis for axis in every if axis not in spreads))
            noise = deviation * (self.cells / numbers.size) ** 0.5
            means, within[np.ix_(first, first)] = joined(numbers, [*spreads.values()], noise)
            places = np.indices(self._shape).reshape(persons.ndim, -1)[[*spreads]]
            terms[:, first] = means[:, *places].T
        rooms = {axis: spread.rooms for axis, spread in spreads.items()}
        return Layout(terms, within, rooms, self._lived_by(table.sum(axis=1), deviation))

    def _information(self, expected: Floats, terms: Floats, deviations: Floats, even: bool) -> Floats:
        """Information (P, P) from expected events (S, R, J) and terms (R, d)."""
        cross = np.einsum("srj,rk->sjk", expected, terms).reshape(-1, self.model.effects)
        products = np.einsum("srj,rk,rl->kl", expected, terms, terms)
        return self.model.information(
            expected.sum(axis=1).ravel(), cross, products, deviations, 0.0, even
        )

    def _weights(
        self, table: Floats, exposed: Floats, rates: Floats, noise: Floats, deviation: float
    ) -> Floats:
        """Weights (S, R, J) of cells, with noise of variances (S, R, J) in what they say."""
        # Where there is hardly a unit there is noise alone, which would hide how ratios are.
        noisy = deviation * self.model.cells.each**0.5
        beyond = np.maximum(table.sum(axis=-1, keepdims=True) / noisy - HARDLY, -9.0)
        persons, exposed = noisy * np.logaddexp(0.0, 2 * beyond) / 2, exposed.sum(axis=1)
        # Those still followed: as rates say, and the same share of them in all combinations.
        left = persons * np.exp(-np.cumsum(rates, axis=-1)) * np.expm1(rates) / rates
        stay = np.clip(exposed[:, None] / left.sum(axis=1, keepdims=True), 0.01, 1.0)
        usual, steady = rates * left * stay, STEADY * deviation**2
        return np.asarray(np.minimum((usual + steady) / (usual + noise), 1.0))

    def _products(self, moved: Floats, terms: Floats) -> Floats:
        """Sums over all counts of the products of what each moves in the gradient (P, P)."""
        model = self.model
        cells = model.cells.count
        products = np.zeros((model.parameters,) * 2)
        sums = moved.sum(axis=-1)
        for place, own in enumerate(moved):
            rows = slice(place * cells, (place + 1) * cells)
            products[rows, rows] = np.einsum("rej,rei->ji", own, own)
            cross = np.einsum("rej,re,rk->jk", own, sums[place], terms)
            products[rows, model.hazards :], products[model.hazards :, rows] = cross, cross.T
            effects = np.einsum("re,rk,rl->kl", sums[place] ** 2, terms, terms)
            products[model.hazards :, model.hazards :] += effects
        return products


def _until_event(rates: Floats) -> Floats:
    """Mean share of a cell that is lived by those with an event in it, at a constant hazard."""
    safe = np.maximum(rates, 1e-3)
    return np.where(rates > 1e-3, 1 / safe - 1 / np.expm1(safe), 0.5)
