"""A test that groups of curves have one mean function, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy

from dpfda.bases.ordinary import Outlook
from dpfda.mean.comparison.estimator import PrivateComparison
from dpfda.mean.comparison.forms import ANY, DESCRIBED, DEVIATION, FINE, LEVEL, LOOKS, Forms, quantiles
from dpfda.mean.comparison.plan import PooledComparison
from dpfda.mean.comparison.tested_release import ReleasedTest
from dpfda.mechanisms.cells import Cells
from dpfda.mechanisms.protocol import Design, Problem
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum, exact_product
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, known, probability, real
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.ledger.named import NAMED, Paying, read_ledger
from dpfda.privacy.words import number
from dpfda.publication import MeanPlan, PlanOfMeans, Prepared, stamp
from dpfda.publication.integers import publish_integers, statistic_noise
from dpfda.publication.shares import Sharing
from dpfda.releases.shares import NoisyShares
from dpfda.spine.arguments import Bounds, Columns, Labels, Number, Payer, Place, Protected, Records
from dpfda.spine.choices import check_choices
from dpfda.spine.curves import POINTS
from dpfda.spine.estimator import Estimator
from dpfda.spine.memberships import divided
from dpfda.spine.settings import Reading, Settings

POWER = 0.8


class PrivateEqualityTest(Estimator):
    """Test that disjoint groups have one mean function, which releases its statistic and no curves.

    `dpfda.PrivateComparison` releases the curves, and tests as a by-product; where nothing but the test
    is wanted, this one needs about half the n epsilon.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper)
        Bounds on values, each a number or a curve. No default.
    levels : sequence of str or numbers, optional
        Names of the groups, public; by default those found.
    look_for : {"any", "level", "slope", "bend", "bumps"}
        What the groups may differ in, stated before the data are seen. "any" finds all of these, each
        almost as well as who knew it; "level" is the mean over the domain, "slope" its first quarter
        against its last, "bend" its ends against its middle, "bumps" any twentieth of it.
    domain, reading, ledger
        As in `dpfda.PrivateMean`.
    unit : str or PrivacyUnit, optional
        As in `dpfda.PrivateMean`, under replace-one neighbours: who is in which group, and so the size
        of every group, is public; what is hidden is the data of any one unit.

    Attributes
    ----------
    release_ : ReleasedTest
        The published statistic, and its p-values.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Epsilon, (epsilon, delta) or rho. The statistic is the largest of several norms of the
    difference of the groups' means, each of which moves by at most 1 / n, as a share of the distance
    between bounds, where the data of one unit are replaced and n is the size of the smallest group. It
    is taken of exact integer sums, rounded down to an integer that moves by at most 2^20, and gets
    Laplace noise of scale 2^20 / epsilon, or normal noise where that is smaller under (epsilon, delta)
    or rho. Derivation: `dpfda.mean.comparison.forms`.

    **Level.** At most the level that is stated, for populations whose variance is at most the one that
    is stated, whatever the correlation between points; means of units are taken as normal.

    References
    ----------
    Szekely & Bakirov (2003), for the law of mean squares; Royen (2014), for several norms together.

    Examples
    --------
    >>> import numpy as np
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 600)[:, None]
    >>> curves[::2] += 0.2
    >>> test = PrivateEqualityTest(epsilon=1.0, bounds=(-1.5, 1.5))
    >>> release = test.fit(curves, ["case", "control"] * 300).release_
    >>> release.test(level=0.05, variance=0.02).differ
    True
    """

    _takes_labels = True

    _embeds = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        levels: Sequence[object] | None = None,
        look_for: str = ANY,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release the statistic.

        Parameters
        ----------
        X : array (n, m), DataFrame, FDataGrid or LongCurves
            One curve a row, in the units of the data. Private.
        y : array (n,)
            The group of each record (of each observation for LongCurves). Public.
        groups : array (n,), optional
            Privacy unit of each record, for example the person.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateComparison.fit`.
        """
        parts, plan = self.prepare(X, y, groups)
        self.release_ = publish_test(parts, plan, self._paying())
        self.n_features_in_ = int(plan.one.basis.grid_points.size)
        return self

    def prepare(
        self, X: Records, y: Labels, groups: Labels = None
    ) -> tuple[dict[str, Prepared[MeanPlan, IntegerSum]], TestPlan]:
        """Everything before the noise: split, check, clip, round, add up over cells. Private."""
        sums = self._sums(self._settings_for(X, groups))
        parts = dict(zip(*sums.prepare(X, y, groups), strict=True))
        return parts, self._plan({name: part.plan for name, part in parts.items()})

    def plan(self, n: int | Mapping[object, int], columns: Columns = POINTS) -> TestPlan:
        """What `fit` would publish, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int or mapping
            Number of units in all, divided evenly among `levels` (two, where none are named); or of
            each group, by name.
        columns : int or array (m,)
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        return self._plan(self._sums(self.settings).plan(n, columns).parts)

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledTest:
        """The sums of all groups as several holders make them; see `PooledSum`."""
        sums = self._sums(self.settings).pooled(n, columns)
        self._plan(sums.plan.parts).certified()
        return PooledTest(sums.one, sums.plan, sums.keys, self._plan)

    def _plan(self, parts: Mapping[str, MeanPlan]) -> TestPlan:
        sizes = tuple(int(part.size or 0) for part in parts.values())
        return TestPlan(parts, self.asked(), sizes, self.look_for)

    def _sums(self, settings: Settings) -> PrivateComparison:
        """What sums the records of each group over fine cells; its noise is never drawn."""
        check_choices(self)
        choice(self.look_for, "look_for", LOOKS)
        if settings.unit.private:
            words = "be 'replace-one' for a test of equality, whose groups have public sizes"
            remedy = "Or use PrivateComparison, whose release has a test."
            raise ParameterError("neighbours", words, "'add-remove'", remedy)
        return PrivateComparison(
            1,
            bounds=self.bounds,
            levels=self.levels,
            mechanism=FineSums(),
            domain=settings.domain,
            unit=settings.unit,
            reading=self.settings.reading,
        )


@dataclass(frozen=True)
class FineSums:
    """In the place of a mechanism: sums over fine cells are made as for it, and no noise is drawn."""

    name: ClassVar[str] = "fine sums"

    def design(self, problem: Problem) -> Design:
        """What is measured: sums over fine cells of the grid."""
        if problem.cube is None:
            words = "be a pair (lower, upper) of bounds on values, for a test of equality"
            remedy = "Or use PrivateComparison, whose release has a test."
            raise ParameterError("bounds", words, f"{problem.norm} body", remedy)
        return Cells(min(FINE, problem.cube.weights.size)).design(problem)


@dataclass(frozen=True, eq=False, repr=False)
class TestPlan(PlanOfMeans):
    """Plan of a test that groups have one mean function.

    Parameters
    ----------
    parts : mapping
        How the records of each group are summed, by its name; no noise is drawn by these plans.
    asked : Guarantee
    sizes : tuple of int
        Public number of units of each group.
    look_for : str
    """

    # Not a test of ours, whatever its name begins with.
    __test__ = False

    parts: Mapping[str, MeanPlan]
    asked: Guarantee
    sizes: tuple[int, ...]
    look_for: str

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged: without delta where the noise needs none."""
        return statistic_noise(self.asked).charged

    @property
    def size(self) -> int:  # type: ignore[override]
        """Of the smallest group."""
        return min(self.sizes)

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": self.one.bounded["description"]}

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        return {**self.one.about, "summary": "test of equal mean curves"}

    @property
    def functions(self) -> str:
        return f"one number: {DESCRIBED[self.look_for]}"

    @property
    def tuning(self) -> dict[str, object]:
        noise = statistic_noise(self.asked).law.describe().replace("coefficient", "number")
        return {"name": "statistic", "looks for": self.look_for, "noise": noise}

    def entry(self) -> dict[str, object]:
        return super().entry() | {"groups": list(self.parts)}

    def costs(self) -> dict[str, Cost]:
        return {WHOLE: statistic_noise(self.asked).cost()}

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Bounds (m,) on values at the grid points."""
        lower, upper = self.one.bound.curves_on(self.one.basis.grid_points)  # type: ignore[attr-defined]
        return lower, upper

    @cached_property
    def forms(self) -> Forms:
        """What the statistic is made of."""
        lower, upper = self.limits
        return Forms((upper - lower) / 2, self.one.basis.weights, self.sizes, self.look_for)

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> TestPlan:
        """The plan for another guarantee, and n units in all, in the proportions of this one."""
        return replace(self, asked=guarantee, sizes=tuple(divided(n, self.sizes)))

    @property
    def n(self) -> int:
        """In all groups together."""
        return sum(self.sizes)

    def detectable(
        self, level: float = LEVEL, power: float = POWER, variance: float | None = 0.0
    ) -> float:
        """The difference that is found with a probability, in the units of the values.

        Parameters
        ----------
        level : float
            Of the test.
        power : float
            The probability.
        variance : float, optional
            Of a unit's value at every point. At 0 of the groups themselves; None is the largest that
            the bounds allow.

        Returns
        -------
        float
            With look_for="any" or "level" a difference in level, else in what is looked for: half of
            that between the ends, or between ends and middle.
        """
        level, power = probability(level, "level"), probability(power, "power")
        half = self.forms.half_widths
        wide = 2 * float(half.mean())
        stated = half**2
        if variance is not None:
            stated = np.minimum(stated, real(variance, "variance", 0.0, 1e200))
        law, unit = statistic_noise(self.asked).law, 2.0**EXPONENT * self.forms.smallest
        critical = self.forms.critical(level, law, stated)
        spread = max(float(deviations[0]) for deviations in self.forms.deviations(stated))
        drawn = quantiles(law)

        def missed(size: float) -> float:
            beyond = critical - drawn
            inside = scipy.special.ndtr((beyond - size) / spread) - scipy.special.ndtr(
                (-beyond - size) / spread
            )
            return float(np.mean(np.maximum(inside, 0.0))) - (1 - power)

        if spread == 0:
            return max(critical - float(np.quantile(drawn, 1 - power)), 0.0) / unit * wide
        highest = 2 * (abs(critical) + drawn[-1] + 9 * spread)
        return float(scipy.optimize.brentq(missed, 0.0, highest, rtol=1e-6)) / unit * wide

    def outlook(self, quick: bool = False) -> Outlook | None:
        return Outlook.alike(self.detectable())

    def outlook_width(self, level: float, quick: bool = False) -> None:
        """There is no band."""

    @property
    def error_axis(self) -> str:
        return f"difference that is found ({self.about.get('value', 'units of the values')})"

    @property
    def error_words(self) -> str:
        wide, _ = self.scale
        usual = (self.detectable(variance=variance) for variance in ((DEVIATION * wide) ** 2, None))
        few, most = map(number, usual)
        return (
            f"the difference between groups that is found with probability {POWER:.0%} at level "
            f"{LEVEL:g}; between populations {few} where values deviate by {number(DEVIATION * wide)}, "
            f"and {most} where by as much as the bounds allow"
        )

    @property
    def scale(self) -> tuple[float, str]:
        lower, upper = self.limits
        return float(np.mean(upper - lower)), "the distance between the bounds"

    @property
    def noise_words(self) -> str:
        return f"statistic: {self.tuning['noise']}"


@dataclass(frozen=True, eq=False)
class PooledTest(PooledComparison):
    """Sums of disjoint groups of which one statistic is released, and no curves.

    Parameters
    ----------
    tested : callable
        From plans of the groups to that of the test.
    """

    tested: Callable[[Mapping[str, MeanPlan]], TestPlan]

    stated_basis = None

    @property
    def stated_grid(self) -> tuple[Floats, tuple[float, float]]:
        basis = self.plan.one.basis
        return basis.grid_points, basis.domain_range

    @property
    def sharing(self) -> Sharing:
        words = "be drawn by the coordinator for a test, whose statistic is taken of exact sums"
        raise ParameterError("noise", words, "'shared'")

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedTest:  # type: ignore[override]
        parts = dict(zip(self.plan.parts, self.prepared(total), strict=True))
        plan = self.tested({name: part.plan for name, part in parts.items()})
        return publish_test(parts, plan, read_ledger(ledger))


def publish_test(
    parts: Mapping[str, Prepared[MeanPlan, IntegerSum]], plan: TestPlan, paying: Paying = NAMED
) -> ReleasedTest:
    """Charge, draw, add: the released statistic of the sums of each group.

    **Guarantee.** Neighbours replace the data of one unit, who stays in its group. Its integers over a
    cell are between -H and H, so that they move by at most 2 H and the statistic, an integer, by at
    most 2^20 (`dpfda.mean.comparison.forms`), whichever group it is in and however many there are.
    """
    first = plan.one
    cube = known(first.problem(plan.size).cube)
    half_widths = exact_product(known(first.measured), cube.half_widths.tolist())
    lower, upper = plan.limits
    basis = first.basis
    terms = (tuple(plan.parts), plan.sizes, plan.look_for, basis.grid_points, basis.weights)
    about = {**plan.about, **stamp()}
    # All that can fail on public grounds has been tried before the charge.
    noise, forms, sums = statistic_noise(plan.asked), plan.forms, [part.total for part in parts.values()]
    nothing = NoisyShares((0,), noise.law, forms.smallest)
    ReleasedTest(*terms, lower, upper, nothing, plan.certified(), about)
    statistic = IntegerSum.one_number(sums, lambda totals: forms.statistic(totals, half_widths))
    noisy, certificate = publish_integers(statistic, noise, plan.entry(), paying, plan.tuning)
    shares = NoisyShares(noisy, noise.law, forms.smallest)
    return ReleasedTest(*terms, lower, upper, shares, certificate, about)
