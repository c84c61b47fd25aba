"""Quantiles of points, with all of the budget, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from numpy.typing import ArrayLike

from dpfda.bases.cells import box_domain
from dpfda.bases.ordinary import Outlook
from dpfda.density.cell_errors import check_lengths
from dpfda.density.quantiles_design import (
    DENOMINATOR,
    MOST_LEVELS,
    PART_BITS,
    PublicPoints,
    QuantileLaw,
    charged,
    range_of,
    spread,
    spreads,
)
from dpfda.density.quantiles_release import ReleasedQuantiles, bound_words
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import exact, shown, whole
from dpfda.numerics.words import several
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost, RangeLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import PlanAgain, Prepared, charge, stamp
from dpfda.records.frames import Container
from dpfda.records.labels import units_of
from dpfda.records.points import PlacedPoints, points_from_array
from dpfda.records.weights import Weights, check_weights, whole_weights
from dpfda.spine.arguments import AxisScale, Labels, Number, Payer, Place, Protected, Records
from dpfda.spine.choices import check_choices, sizes_for
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Reading, read_labels


class PrivateQuantiles(Estimator):
    """A median, or up to 16 quantiles of points on an interval, under differential privacy.

    All of epsilon goes into the quantiles that are asked for. `dpfda.PrivateDensity` answers for all
    levels at once, less exactly.

    Parameters
    ----------
    epsilon : number or text
        Privacy loss, positive.
    delta : number or text
        As in `dpfda.PrivateMean`. None is spent.
    rho : number or text, optional
        Zero-concentrated privacy loss, in the place of epsilon: that of an epsilon of (8 rho)^(1/2).
    levels : float or sequence of float
        Shares of the units below the quantiles, increasing, strictly between 0 and 1, in steps of 1e-9.
        By default the median. The fewer, the more exact.
    domain : (a, b) or Domain
        Public ends of the axis, in the units of the data. No default: the span of the data is private.
        Points outside count as at the nearer end.
    scale : "linear", "log", array or callable
        What these points are equal on, as in `dpfda.PrivateDensity`: where little is known of incomes,
        "log" weighs their orders of magnitude equally.
    unit : str or PrivacyUnit, optional
        As in `dpfda.PrivateMean`; no public size is needed under add/remove.
    reading, ledger
        As in `dpfda.PrivateDensity`.

    Attributes
    ----------
    release_ : ReleasedQuantiles
        The published quantiles.
    n_features_in_ : int
        1.

    Notes
    -----
    **Guarantee.** Pure epsilon, or rho with epsilon^2 / 8. One unit is one point, or all points of one
    label of `groups`, which count as one, spread over its points. Quantiles are drawn together, with
    probabilities that fall exponentially with how far the shares between them are off from what the
    levels say. The draw is exact, in integers. Proof: `dpfda.density.quantiles_design`.

    **Error.** The share below a single quantile is off by about 8^(1/2) / (n epsilon), half of that for
    a median under add/remove; below several, all at once, by about 5 to 8 / (n epsilon).

    References
    ----------
    Smith (2011); Gillenwater, Joseph & Kulesza (2021).

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).integers(18, 90, size=3000)
    >>> made = PrivateQuantiles(epsilon=1, levels=(0.25, 0.5, 0.75), domain=(0, 105), step=1)
    >>> values = made.fit(ages).release_.values
    >>> bool(35 <= values[0] <= 37 and 52 <= values[1] <= 55)
    True
    """

    _stepped = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        levels: ArrayLike = 0.5,
        domain: Place = None,
        scale: AxisScale = "linear",
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(
        self, X: Records, y: Labels = None, groups: Labels = None, weights: Weights | None = None
    ) -> Self:
        """Release quantiles.

        Parameters
        ----------
        X : array (n,) or (n, 1)
            One point a row, in the units of the domain. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,), optional
            Privacy unit of each point, for example the person. Private.
        weights : Weights, optional
            Survey weights of the points (`dpfda.records.weights`), as in `dpfda.PrivateDensity`: levels
            are shares of their sum. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        warn_of_labels(y, groups)
        self.release_ = publish_plan(self.prepare(X, groups, weights), self._paying())
        self.n_features_in_ = 1
        return self

    def plan(self, n: int, max_weight: float | None = None) -> QuantilesPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        max_weight : float, optional
            As in `dpfda.PrivateDensity.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        plan = self._plan(check_choices(self), whole(n, "n", 2), None, True)
        return plan if max_weight is None else plan.weighted(max_weight)

    def prepare(
        self, X: Records, groups: Labels = None, weights: Weights | None = None
    ) -> Prepared[QuantilesPlan, PlacedPoints]:
        """Everything before the draw. The result is private: it holds the points."""
        guarantee, invalid = check_choices(self), self.settings.reading.invalid
        self._plan(guarantee, 2, None, True)
        X, groups = Container.of(X, groups).cells()
        points, usable = points_from_array(X, 1, invalid)
        codes, units = units_of(groups, len(points), invalid)
        plan = self._plan(guarantee, units, groups, False)
        plan = plan if weights is None else plan.weighted(check_weights(weights).largest)
        counted = whole_weights(weights, len(points), invalid, EXPONENT)
        return Prepared(plan, PlacedPoints(points, usable, codes, EXPONENT, counted))

    def _plan(self, guarantee: Guarantee, count: int, groups: object, planned: bool) -> QuantilesPlan:
        settings = self.settings
        size, designed = sizes_for(settings, count, planned)
        return QuantilesPlan(
            self._levels(),
            self._points(),
            guarantee,
            settings.unit.relation,
            settings.unit.called(groups),
            size,
            {"summary": "quantiles", **read_labels(settings.domain.labels)},
            expected_size=count if planned else designed,
        )

    def _levels(self) -> tuple[int, ...]:
        """Levels in steps of 10^-9."""
        words = (
            f"be one to {MOST_LEVELS} increasing numbers between 0 and 1, in steps of 1e-9 "
            "(shares, not per cent: .03, .5, .97)"
        )
        try:
            levels = [self.levels] if isinstance(self.levels, str) else list(self.levels)
        except TypeError:
            levels = [self.levels]
        steps = tuple(round(exact(level, "levels") * DENOMINATOR) for level in levels[: MOST_LEVELS + 1])
        increasing = all(a < b for a, b in zip((0, *steps), (*steps, DENOMINATOR), strict=True))
        if not 1 <= len(levels) <= MOST_LEVELS or not increasing:
            raise ParameterError(
                "levels", words, shown(self.levels), "A density answers for all levels."
            )
        return steps

    def _points(self) -> PublicPoints:
        """The public points."""
        ends = self.settings.domain.ends
        if len(box_domain(ends)) != 1:
            raise ParameterError("domain", "be one interval (a, b) for quantiles", shown(ends))
        check_lengths(ends)
        if self.settings.domain.step is None:
            return PublicPoints.on(self.scale, ends)
        if not (isinstance(self.scale, str) and self.scale == "linear"):
            raise ParameterError("scale", "be 'linear' with a step", shown(self.scale))
        return PublicPoints.every(self.settings.domain.step, ends)


@dataclass(frozen=True, eq=False, repr=False)
class QuantilesPlan(PlanAgain):
    """Plan of quantiles.

    Parameters
    ----------
    levels : tuple of int
        In steps of 10^-9.
    points : PublicPoints
    asked : Guarantee
    neighbours : Neighbours
    unit : str
    size : int or None
        Public number of units.
    about : mapping
    expected_size : int, optional
        Number of units to expect, where it is private.
    """

    levels: tuple[int, ...]
    points: PublicPoints
    asked: Guarantee
    neighbours: Neighbours
    unit: str
    size: int | None
    about: Mapping[str, object]
    scale = 1.0, "all units"
    noise_words = "exponential: drawn by how well they divide the data, exactly"
    error_words = (
        "root mean square distance of the share of units below a quantile from its level, where units "
        "lie densely; the largest of the levels"
    )

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged."""
        return charged(self.asked)

    @property
    def law(self) -> QuantileLaw:
        """The law of the output."""
        return QuantileLaw(self.levels, self.points.count, range_of(self.asked), self.neighbours)

    @property
    def bounded(self) -> dict[str, object]:  # type: ignore[override]
        return {"description": bound_words(self.points, self.unit)}

    @property
    def functions(self) -> str:
        levels = ", ".join(f"{level / DENOMINATOR:g}" for level in self.levels)
        return f"quantiles {levels} among {self.points.describe()}"

    @property
    def tuning(self) -> dict[str, object]:
        return {"name": "exponential", "levels": len(self.levels)}

    def costs(self) -> dict[str, Cost]:
        return {WHOLE: Cost(self.guarantee, RangeLoss(range_of(self.asked)))}

    def outlook(self, quick: bool = False) -> Outlook | None:
        return None if self.n is None else Outlook.alike(float(spreads(self.law, self.n).max()))

    @property
    def error_axis(self) -> str:
        return f"error of the share of {several(self.unit)} below"

    def remade(self, guarantee: Guarantee, n: int) -> QuantilesPlan:
        """The plan for another guarantee and number of units."""
        size, expected = (None, n) if self.size is None else (n, None)
        return replace(self, asked=guarantee, size=size, expected_size=expected)


def publish_plan(
    prepared: Prepared[QuantilesPlan, PlacedPoints], paying: Paying = NAMED
) -> ReleasedQuantiles:
    """Charge and draw: the released quantiles."""
    plan = prepared.plan
    certificate, about = plan.certified(), {**plan.about, **stamp()}
    facts = plan.points, plan.law, plan.size, certificate, about
    # All that can fail on public grounds has been tried before the charge.
    ReleasedQuantiles((0,) * len(plan.levels), *facts)
    charge(paying, certificate, plan.entry())
    units = prepared.total
    parts = spread(len(units))
    places, shares = units.ranked(lambda at: (plan.points.nearest(at) << PART_BITS) | parts)
    return ReleasedQuantiles(plan.law.draw(places, shares, plan.size), *facts)
