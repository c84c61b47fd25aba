"""ROC, calibration and decision curves of a public score, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DataError, Location, ParameterError
from dpfda.numerics.parameters import probability, reals, shown, whole
from dpfda.publication import Prepared
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import column_of
from dpfda.records.labels import units_of
from dpfda.records.points import cell_weights
from dpfda.scores.plan import MOST, ScoreCurvesPlan, score_curves_plan
from dpfda.spine.arguments import Labels, Number, Payer, Protected
from dpfda.spine.choices import check_choices
from dpfda.spine.estimator import Estimator
from dpfda.spine.memberships import OTHER, members, none_of, public_labels
from dpfda.spine.settings import Reading

# Usual codes of the outcome: without and with it.
OUTCOMES = (0, 1)
# Shapes of a beta law that cells can follow.
SHAPES = (0.1, 100.0)


class PrivateScoreCurves(Estimator):
    """ROC, calibration and decision curves of a risk score, under differential privacy.

    Each person is counted once, by score and outcome: those without it in cells that follow from a
    first look at an eighth of each, then those with it in groups of cells that the noisy numbers
    of the others suggest. Of these come the ROC curve and its area, calibration, net benefit,
    sensitivity and specificity at any threshold.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    score_bounds : (low, high)
        Public ends of the score; scores beyond count as on them. Net benefit needs risks from 0 to 1.
    law : (float, float)
        Beta law between the bounds under which cells are equally likely before the look: a public guess
        of where scores lie. By default a little finer at both ends; (1, 1) makes equal cells, (1, 4)
        finer low ones.
    cells : int, optional
        Number of public cells for both outcomes, from 2 to 256. By default there is a look, the number
        is from public ones, and those with the outcome, who are taken to be the fewer, are in groups.
    codes : (without, with), optional
        Public codes of the outcome, as `outcomes` has them; by default 0 and 1, or False and True.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, unless `cells` is given.
    reading : Reading, optional
        Whether unusable records are refused, or left out: `dpfda.Reading`.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn, as in `dpfda.PrivateMean`.

    Attributes
    ----------
    release_ : ReleasedScoreCurves
        The published curves.

    Notes
    -----
    **Guarantee.** Pure epsilon, (epsilon, delta) or rho, one unit being one record, or all of one label
    of `groups`, whose shares of the cells are at most one in all. Independent Laplace noise of scale
    2 / epsilon persons (1 / epsilon under add/remove) on each number gives pure epsilon: an eighth of a
    person without the outcome counts in the look and the rest in a cell, one with it in a group alone,
    so that cells and groups may follow from what was told before
    (`help(dpfda.publication.tables.ShareTable.publish_in_turn)`). The score has to be public: it must
    not have been fitted to these people.

    References
    ----------
    Fieller (1954) for intervals of ratios; Vickers & Elkin (2006) for decision curves.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> risks = generator.beta(2, 3, size=2000)
    >>> ill = generator.random(2000) < risks
    >>> release = PrivateScoreCurves(epsilon=1, score_bounds=(0, 1)).fit(risks, ill).release_
    >>> bool(0.65 < release.auc < 0.8), bool(release.net_benefit(0.3) > 0)
    (True, True)
    """

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        score_bounds: ArrayLike | None = None,
        law: ArrayLike = (0.75, 0.75),
        cells: int | None = None,
        codes: Sequence[object] | None = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, scores: Labels, outcomes: Labels, groups: Labels = None) -> Self:
        """Release the curves.

        Parameters
        ----------
        scores : array (n,)
            Score of each record. Private.
        outcomes : array (n,)
            Of each record one of `codes`. Private.
        groups : array (n,), optional
            Privacy unit of each record, where a person has several. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        prepared = self.prepare(scores, outcomes, groups)
        self.release_ = prepared.plan.publish(prepared.total, self._paying())
        return self

    def plan(self, n: int, share: float | None = None) -> ScoreCurvesPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        share : float, optional
            Expected share of units with the outcome. A guess, for errors and bands alone.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        share = None if share is None else probability(share, "share")
        return self._plan(whole(n, "n", 2), None, planned=True, share=share)

    def prepare(
        self, scores: Labels, outcomes: Labels, groups: Labels = None
    ) -> Prepared[ScoreCurvesPlan, IntegerSum]:
        """Everything before the noise: read, check, count. The result is private."""
        self._choices()
        invalid, codes = self.settings.reading.invalid, self._codes()
        numbers, _ = column_of(scores, "scores")
        classes = members(outcomes, codes, "outcomes")
        if len(classes) != len(numbers):
            raise DataError(
                f"outcomes must have one entry a score ({len(numbers)}); found {len(classes)}."
            )
        if invalid == "refuse" and (classes == OTHER).any():
            row = int(np.argmax(classes == OTHER))
            raise none_of("outcomes", "codes", codes, row, "outcomes", "State both with $codes")
        offences = {"outcomes": classes < 0, "scores": ~np.isfinite(numbers)}
        for name, broken in offences.items() if invalid == "refuse" else ():
            if broken.any():
                raise DataError(
                    f"{name} must have a number in every row; found none in $place. Correct it, or use "
                    f"$invalid to leave such records out. {OUTSIDE}",
                    name,
                    place=Location(int(np.argmax(broken))),
                )
        usable = ~np.any([*offences.values()], axis=0)
        owners, units = units_of(groups, len(numbers), invalid)
        plan = self._plan(units, groups)
        inner = plan.edges[1:-1]
        cell = np.searchsorted(inner, np.where(usable, numbers, 0.0), "right")
        index = np.where(usable, classes, 0) * (inner.size + 1) + cell
        weights = cell_weights(index, usable, owners, 2 * (inner.size + 1), plan.exponent)
        return Prepared(plan, IntegerSum.of(weights))

    def _choices(self) -> tuple[tuple[float, float], tuple[float, float], int | None]:
        """Bounds, law and cells, checked."""
        check_choices(self)
        self._codes()
        bounds = _pair(self.score_bounds, "score_bounds", "(0, 1)")
        if not bounds[0] < bounds[1]:
            raise ParameterError("score_bounds", "increase", shown(self.score_bounds), "Swap the ends?")
        law = _pair(self.law, "law", "(1, 1)")
        if not all(SHAPES[0] <= shape <= SHAPES[1] for shape in law):
            raise ParameterError(
                "law", f"be two numbers from {SHAPES[0]:g} to {SHAPES[1]:g}", shown(self.law)
            )
        return bounds, law, None if self.cells is None else whole(self.cells, "cells", 2, MOST)

    def _codes(self) -> Sequence[object]:
        """Codes of those without and of those with the outcome."""
        codes = public_labels(OUTCOMES if self.codes is None else self.codes, "codes", 2)
        if len(codes) > 2:
            raise ParameterError("codes", "be two, without and with the outcome", shown(self.codes))
        return codes

    def _plan(
        self, count: int, groups: object, planned: bool = False, share: float | None = None
    ) -> ScoreCurvesPlan:
        bounds, law, cells = self._choices()
        settings = self.settings
        return score_curves_plan(
            self.asked(), count, settings=settings, bounds=bounds, law=law, cells=cells,
            unit=settings.unit.called(groups), codes=None if self.codes is None else self._codes(),
            planned=planned, share=share,
        )  # fmt: skip


def _pair(stated: object, name: str, example: str) -> tuple[float, float]:
    numbers = np.zeros(0) if stated is None else reals(stated, name)
    if numbers.shape != (2,) or not np.all(np.isfinite(numbers)):
        raise ParameterError(name, "be two numbers", shown(stated), f"Example: {name}={example}.")
    return float(numbers[0]), float(numbers[1])
