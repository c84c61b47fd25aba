"""A model of hazards from a noisy table of counts: where covariates are few, at any guarantee.

A record is one count: in its combination of strata, levels and parts of the ranges of numbers, in the
cell of time where its follow-up ended, and by how. Numbers of events and exposures are sums of counts,
so the gradient of the likelihood, with a number in the middle of its part, is linear in them, and its
noise has a known covariance.

**Guarantee.** That of a table of shares (`dpfda.noise.shares`): a unit is at most one count
in all, so that two units differ by at most two, however many cells there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.corners import Covariate
from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.survival.proportional import REACH, Model, Posterior

# Parts of the range of a number, by how many numbers there are; and combinations at most.
PARTS, MOST = {0: 1, 1: 8, 2: 5, 3: 4, 4: 3}, 256
ROUNDS = 12


@dataclass(frozen=True)
class Combinations:
    """The combinations of covariates that are counted apart. Public.

    Parameters
    ----------
    model : Model
    """

    model: Model

    def __post_init__(self) -> None:
        if not self.fits:
            raise ParameterError(
                "covariates",
                f"have at most {MOST} combinations of levels and parts of numbers in a table",
                f"{self.size if self._numbers in PARTS else 'more than four numbers'}",
                "Set delta (for example 1e-6) or rho, which take any number; or leave some out.",
            )

    @property
    def fits(self) -> bool:
        """Whether they are few enough."""
        return self._numbers in PARTS and self.size <= MOST

    @property
    def _numbers(self) -> int:
        return sum(each.bounds is not None for each in self.model.terms.covariates)

    def _ends(self, each: Covariate) -> int:
        return each.ends if each.bounds is None else PARTS.get(self._numbers, 2)

    @property
    def size(self) -> int:
        """Number of combinations, strata among them."""
        terms = [self._ends(each) for each in self.model.terms.covariates]
        return self.model.baselines * int(np.prod(terms, dtype=np.int64))

    @property
    def cells(self) -> int:
        """Number of all counts."""
        return self.size * self.model.cells.each

    @cached_property
    def terms(self) -> Floats:
        """Terms (R, d) of the combinations of one stratum: numbers in the middle of their parts."""
        made = []
        for each in self.model.terms.covariates:
            if each.bounds is None:
                made.append(np.eye(each.ends)[:, 1:])
            else:
                parts = self._ends(each)
                made.append(((2 * np.arange(parts) + 1) / parts - 1)[:, None])
        return frozen(np.array([np.concatenate(rows) for rows in itertools.product(*made)]))

    def places(self, columns: Sequence[Floats | Integers], strata: Integers) -> Integers:
        """Combination (n,) of each record, from scaled numbers and places of levels."""
        place = strata.astype(np.int64)
        for each, column in zip(self.model.terms.covariates, columns, strict=True):
            parts = self._ends(each)
            own = column if each.bounds is None else np.floor((column + 1) / 2 * parts)
            place = place * parts + np.clip(own, 0, parts - 1).astype(np.int64)
        return place

    @cached_property
    def _lived(self) -> Floats:
        """Share of each cell of time (J,) that a follow-up with an exit (each,) covers, on average."""
        cells = self.model.cells
        count = cells.count
        halves = np.tril(np.ones((count, count)), -1) + np.eye(count) / 2
        rows = [*halves] * len(cells.causes)
        for own in np.eye(cells.coarse):
            rows.append(cells.spread(own) @ halves)
        return frozen(np.array([*rows, np.ones(count)]))

    @cached_property
    def _died(self) -> Floats:
        """Which exits (each,) are events of each cell (J,), of any cause."""
        cells = self.model.cells
        rest = np.zeros((cells.coarse + 1, cells.count))
        return frozen(np.concatenate([*[np.eye(cells.count)] * len(cells.causes), rest]))

    def estimate(self, counts: Floats, deviation: float) -> tuple[Posterior, Floats]:
        """The law of the parameters given noisy counts, and the information there.

        Parameters
        ----------
        counts : array (cells,)
        deviation : float
            Of the noise in each.
        """
        model = self.model
        table = counts.reshape(model.baselines, -1, model.cells.each)
        combinations, terms = table.shape[1], self.terms
        events, exposed = table @ self._died, table @ self._lived
        root = combinations**0.5
        seen = deviation * root * float(np.sqrt(np.sum(self._died**2, axis=0)).max())
        spent = deviation * root * float(np.sqrt(np.sum(self._lived**2, axis=0)).max())
        start = model.start(events.sum(axis=1).ravel(), exposed.sum(axis=1).ravel(), (seen, spent))
        found = start
        information = np.zeros((model.parameters,) * 2)
        for _ in range(ROUNDS):
            hazards = np.exp(found.at[: model.hazards]).reshape(model.baselines, 1, -1)
            effects = found.at[model.hazards :]
            factor = np.exp(np.clip(terms @ effects, -REACH, REACH))[:, None]
            rates = hazards * factor
            # Who has an event in a cell has it early where hazards are high.
            expected = rates * (exposed + events * (_until_event(rates) - 0.5))
            rest = events - expected
            gradient = np.concatenate([rest.sum(axis=1).ravel(), np.einsum("srj,rk->k", rest, terms)])
            # Of one count in the gradient: (S, R, each, J).
            moved = self._died - rates[..., None, :] * self._lived
            noise = deviation**2 * self._products(moved)
            cross = np.einsum("srj,rk->sjk", expected, terms).reshape(-1, model.effects)
            products = np.einsum("srj,rk,rl->kl", expected, terms, terms)
            rough = np.sqrt(np.diag(noise))
            of_cells = rough[: model.hazards].mean()
            deviations = np.array([of_cells, of_cells, rough[-1]])
            information = model.information(expected.sum(axis=1).ravel(), cross, products, deviations)
            found = start.from_here(found.at).seen(gradient, information, noise)
        return found, information

    def _products(self, moved: Floats) -> Floats:
        """Sums over all counts of the products of what each moves in the gradient (P, P)."""
        model, terms = self.model, self.terms
        cells = model.cells.count
        made = np.zeros((model.parameters,) * 2)
        whole = moved.sum(axis=-1)
        for place, own in enumerate(moved):
            rows = slice(place * cells, (place + 1) * cells)
            made[rows, rows] = np.einsum("rej,rei->ji", own, own)
            cross = np.einsum("rej,re,rk->jk", own, whole[place], terms)
            made[rows, model.hazards :], made[model.hazards :, rows] = cross, cross.T
            effects = np.einsum("re,rk,rl->kl", whole[place] ** 2, terms, terms)
            made[model.hazards :, model.hazards :] += effects
        return made


def _until_event(rates: Floats) -> Floats:
    """Mean share of a cell that is lived by those with an event in it, at a constant hazard."""
    safe = np.maximum(rates, 1e-3)
    return np.where(rates > 1e-3, 1 / safe - 1 / np.expm1(safe), 0.5)
