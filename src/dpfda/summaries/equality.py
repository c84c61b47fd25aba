"""A test that groups of curves have one mean function, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from dpfda.mechanisms.design.forms import ANY, LOOKS
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, whole
from dpfda.publication import MeanPlan, Prepared
from dpfda.summaries.arguments import Bounds, Columns, Labels, Number, Payer, Place, Protected, Records
from dpfda.summaries.choices import check_choices
from dpfda.summaries.comparison import PrivateComparison
from dpfda.summaries.curves import POINTS
from dpfda.summaries.equality_plan import FineSums, TestPlan, publish_test
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.settings import Reading, Settings

if TYPE_CHECKING:
    from sklearn.utils import Tags


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
    or rho. Derivation: `dpfda.mechanisms.design.forms`.

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

    def __init__(
        self,
        epsilon: Number = None,
        delta: float | Fraction = 0.0,
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
        self.release_ = publish_test(parts, plan, self.paying())
        self.n_features_in_ = int(plan.one.basis.grid_points.size)
        return self

    def prepare(
        self, X: Records, y: Labels, groups: Labels = None
    ) -> tuple[dict[str, Prepared[MeanPlan, IntegerSum]], TestPlan]:
        """Everything before the noise: split, check, clip, round, add up over cells. Private."""
        sums = self._sums(self.settings_for(X, groups))
        parts = dict(zip(*sums.prepare(X, y, groups), strict=True))
        return parts, self._plan({name: part.plan for name, part in parts.items()})

    def plan(self, n: int | Mapping[object, int], columns: Columns = POINTS) -> TestPlan:
        """What `fit` would publish, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int or mapping
            Number of units of each group: one for all of `levels` (two, where none are named), or by
            name.
        columns : int or array (m,)
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        if not isinstance(n, Mapping):
            whole(n, "n", 2)
        return self._plan(self._sums(self.settings).plan(n, columns).parts)

    def _plan(self, parts: Mapping[str, MeanPlan]) -> TestPlan:
        sizes = tuple(int(part.size or 0) for part in parts.values())
        return TestPlan(parts, self.asked(), sizes, self.look_for)

    def _sums(self, settings: Settings) -> PrivateComparison:
        """What sums the records of each group over fine cells; its noise is never drawn."""
        check_choices(self)
        choice(self.look_for, "look_for", LOOKS)
        if settings.unit.private:
            raise ParameterError(
                "neighbours", "be 'replace-one' for a test of equality, whose groups have public sizes",
                "'add-remove'", "Or use PrivateComparison, whose release has a test.",
            )  # fmt: skip
        return PrivateComparison(
            1,
            bounds=self.bounds,
            levels=self.levels,
            mechanism=FineSums(),
            domain=settings.domain,
            unit=settings.unit,
            reading=self.reading,
        )

    def __sklearn_tags__(self) -> Tags:
        """A label for every record is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
