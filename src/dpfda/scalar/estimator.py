"""A number explained by a curve (scalar-on-function regression): plan, and scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.corners import Covariate
from dpfda.bases.ordinary import MODES, ordinary_modes, spread_evenly
from dpfda.bases.protocol import flat_grid
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.noise import gaussian_ratio
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import pair
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.publication import Prepared, Trial, TriedPlan, planner, stamp
from dpfda.publication.moments import MomentsDesign, shared
from dpfda.publication.planners import ORDINARY
from dpfda.records import Curves, units
from dpfda.records.covariates import columns_apart, columns_named
from dpfda.records.labels import units_of
from dpfda.releases.moments import Moments
from dpfda.scalar.release import ReleasedScalarOnFunction, bound_words
from dpfda.spine.arguments import Bounds, Functions, Labels, Number, Payer, Place, Protected
from dpfda.spine.curves import check_in_memory, read_matrix
from dpfda.spine.memberships import read_covariates, stated_covariates
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import read_block
from dpfda.spine.vectors import Choices, OfCurves, VectorPlan, divisor_for

SUMMARY = "regression of a number on curves"
# Of pure and of normal noise: most functions that curves are reduced to, steps of second moments, the
# n epsilon (n mu) at which functions are `USUAL`, and how many fewer a covariate makes them. They grow
# with a power of it; with more than so few noise drowns directions that matter. Chosen on half of the
# sets of real curves. Decay: `Moments`.
PURE, NORMAL, DECAY = (8, 2, 1000.0, 0.5), (10, 3, 200.0, 0.0), 0.0
FEWEST, USUAL, GROWTH = 4, 5, 0.35
# Of trials: deviations of curves in distances between the bounds; of the target, in such distances; what
# curves explain of it; units at most, of whom the noise is then as of all.
DEVIATIONS, SPREAD, EXPLAINED, MOST = (0.01, 0.25), 0.15, 0.5, 4000
# How coefficient functions fall with frequency in trials.
FALL = 1.5


@dataclass(frozen=True, eq=False, repr=False)
class ScalarPlan(TriedPlan, VectorPlan[ReleasedScalarOnFunction]):
    """Plan of a regression of a number on curves: nothing is measured after moments.

    Parameters
    ----------
    target : (float, float)
    covariates : tuple of Covariate
    """

    target: tuple[float, float]
    covariates: tuple[Covariate, ...]

    TRIALS: ClassVar[int] = 16
    BANDS: ClassVar[int] = 8
    error_words = (
        "root mean square at a point of the coefficient function, from that of the population, "
        f"{ORDINARY} curves that explain {100 * EXPLAINED:g} per cent of a number whose deviation "
        f"is {SPREAD:g} of the distance between its bounds"
    )

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": bound_words(np.stack(self.limits), self.target, self.covariates)}

    @property
    def tuning(self) -> Mapping[str, object]:
        return {**super().tuning, "functions": self.design.blocks[0]}

    @property
    def analysis(self) -> Floats:
        """What makes coefficients (K,) in the functions that are measured of curves on the grid."""
        return self.basis.analysis[:, : self.design.blocks[0]]

    def drawn(self, vectors: Floats, certificate: Certificate) -> ReleasedScalarOnFunction:
        return self._assemble(self.design.published(vectors, self.size), certificate)

    def _assemble(self, moments: Moments, certificate: Certificate) -> ReleasedScalarOnFunction:
        return ReleasedScalarOnFunction(
            moments, self.basis, np.stack(self.limits), self.target, self.covariates, certificate,
            {**self.about, **stamp()},
        )  # fmt: skip

    # What to expect.

    def trials(self, count: int) -> list[Trial]:
        """Of ordinary curves and smooth coefficient functions, published with simulated noise."""
        (start, end), grid = self.basis.domain_range, self.basis.grid_points
        times, certificate, trials = (grid - start) / (end - start), self.certified(), list[Trial]()
        generator = np.random.Generator(np.random.Philox(key=42))
        lower, upper = self.limits
        wide, persons = float(np.mean(upper - lower)), min(self.size, MOST)
        waves = np.arange(MODES // 10)
        cosines = np.cos(np.pi * np.multiply.outer(waves, times)) * (1.0 + waves[:, None]) ** -FALL

        def drawn(law: object) -> list[int]:
            # Fewer units than there are, with noise that is to theirs as it is to all.
            noise = np.asarray(law.simulate(generator, 1)[0]) * (persons / self.size)  # type: ignore[attr-defined]
            flat = noise[np.tril_indices(len(noise))] if noise.ndim == 2 else noise
            return [int(value) for value in np.rint(flat)]

        low, high = DEVIATIONS
        sizes = wide * low * (high / low) ** spread_evenly(count, 3)[:, 2]
        for modes in sizes[:, None, None] * ordinary_modes(times, count):
            curves = generator.standard_normal((persons, len(modes))) @ modes
            line = generator.standard_normal(waves.size) @ cosines
            signal = curves @ (self.basis.weights * line)
            line *= SPREAD * (self.target[1] - self.target[0]) * EXPLAINED**0.5 / signal.std()
            rows, signal = curves @ self.analysis, curves @ (self.basis.weights * line)
            noise = (1 / EXPLAINED - 1) ** 0.5 * signal.std()
            number = signal + noise * generator.standard_normal(persons)
            beside = generator.uniform(-1, 1, (persons, len(self.covariates)))
            scaled = np.clip(number / (self.target[1] - self.target[0]) * 2, -1, 1)
            vectors = np.column_stack([rows, beside, scaled])
            moments = self.design.published(vectors, persons, drawn)
            trials.append(Trial(self._assemble(moments, certificate), grid, line))
        return trials

    @property
    def scale(self) -> tuple[float, str] | None:
        start, end = self.basis.domain_range
        lower, upper = self.limits
        wide = float(np.mean(upper - lower)) * (end - start)
        return (self.target[1] - self.target[0]) / wide, "the ratio of the distances between the bounds"


@planner
def scalar_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    basis: Basis,
    bound: ValueBounds,
    target: tuple[float, float],
    covariates: tuple[Covariate, ...],
    unit: str,
    planned: bool = False,
) -> ScalarPlan:
    """The plan, checked: whatever can be refused is refused here. Parameters as of `ScalarPlan`.

    count: Number of units, used where it is public or `planned`.
    Raises ParameterError if the basis is not orthonormal, or a private number of units has no
    public size.
    """
    size = divisor_for(settings, count, planned)
    most, steps, start, fewer = PURE if isinstance(guarantee, PureDP) else NORMAL
    ratio = guarantee.epsilon if isinstance(guarantee, PureDP) else gaussian_ratio(guarantee)
    used = basis.truncate(min(most, basis.eigenvalues.size))
    functions = round(USUAL * (size * float(ratio) / start) ** GROWTH - fewer * len(covariates))
    functions = min(max(functions, FEWEST), used.eigenvalues.size)
    SymmetricTensorBasis(used)
    grid, beside = used.grid_points, len(covariates)
    bounds = bound.radius_on(grid, used.weights), *([beside**0.5] if beside else []), 1.0
    blocks = functions, *([beside] if beside else []), 1
    names = "curves", *(["covariates"] if beside else []), "target"
    design = MomentsDesign(
        blocks, bounds, names, shared(guarantee), settings.unit.relation, steps, decay=DECAY
    )
    about = {"summary": SUMMARY, **settings.said()}
    plan = ScalarPlan(
        design, {}, guarantee, used, bound, size, unit, about, target=target, covariates=covariates
    )
    plan.whole_achieved()
    return plan


TARGET = "y"


class PrivateScalarOnFunction(OfCurves[ScalarPlan]):
    """A number as a linear function of a curve, under differential privacy.

    The model y = a + integral of beta(t) x(t) dt + gamma'z + residual: the coefficient *function* beta
    with a band, coefficients of covariates z beside the curve, and predictions for new curves.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper) or ValueBounds
        Public bounds on the values of a curve, enforced by clipping. No default.
    target_bounds : (lower, upper)
        Public bounds on the number that is explained, enforced by clipping. No default.
    covariates : mapping, optional
        Public: for each number beside the curve by name its bounds, such as ``{"age": (20, 80)}``. Of a
        label with two levels, write the numbers 0 and 1.
    basis, domain, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval. Its four to eight
        leading functions are measured, with a delta or a rho up to ten: more of more units, and without
        either fewer beside covariates.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, which sums are divided by.
    reading : Reading, optional
        As in `dpfda.PrivateMean`; an unusable record that is repaired counts as the middle of all
        bounds.

    Attributes
    ----------
    release_ : ReleasedScalarOnFunction
        The published model.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, one unit being one record, or the
    average of all records of one label of `groups`. Curve, covariates and number are private together.
    Neighbours differ in one unit: another in its place, or one more or less. Each stage is a sum over
    units of vectors, counts or outer products that every unit is verified to be within, with noise for
    its share; shares add up. With a delta or a rho all noise is normal, and charged as one law: proof on
    the page on regression on curves. Parameters are public; `X`, `y`,
    `Z` and `groups` are private.

    References
    ----------
    Ramsay & Silverman (2005), chapter 15, and Reiss et al. (2017) for the model; Biswas, Dong, Kamath &
    Ullman (2020) for second moments in steps; Hardt & Talwar (2010) and Balle & Wang (2018) for noise.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> t = np.linspace(0, 1, 30)
    >>> curves = rng.normal(size=(4000, 1)) * np.sin(3 * t) + rng.normal(size=(4000, 1)) * t
    >>> y = curves.mean(axis=1) + 0.1 * rng.normal(size=4000)
    >>> model = PrivateScalarOnFunction(2.0, bounds=(-4, 4), target_bounds=(-3, 3))
    >>> release = model.fit(curves, y).release_
    >>> bool(np.corrcoef(release.predict(curves), y)[0, 1] > 0.9), release.coefficient([0.2, 0.8]).shape
    (True, (2,))
    """

    _takes_labels: ClassVar[bool] = True
    release_: ReleasedScalarOnFunction
    CALLED: ClassVar[str] = "a regression on curves"

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        target_bounds: object = None,
        covariates: Mapping[str, object] | None = None,
        basis: Functions = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: object, y: object = None, Z: object = None, groups: Labels = None) -> Self:
        """Release the model.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid
            One curve a row, in the units of the data. Private.
        y : array (n,), or the label of a column of X
            The number of each record. Private.
        Z : array (n, r), DataFrame, mapping from name to column; optional
            Covariates of each record. By default the columns of these names of a data frame X, which are
            then no part of the curve. Private.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person, or the label of a column of X. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        prepared = self.prepare(X, y, Z, groups)
        self.release_ = prepared.plan.publish(prepared.total, self._paying())
        self.n_features_in_ = int(prepared.plan.basis.grid_points.size)
        return self

    def predict(self, X: object, Z: object = None) -> Floats:
        """As `release_.predict`, of new curves (q, m)."""
        return self.release_.predict(X, Z)  # type: ignore[arg-type]

    # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
    @np.errstate(all="ignore")
    def prepare(
        self, X: object, y: object = None, Z: object = None, groups: Labels = None
    ) -> Prepared[ScalarPlan, Floats]:
        """Check what is public, and read one vector a unit (units, d). Nothing is charged or drawn."""
        guarantee = self._checked()
        check_in_memory(X)
        if y is None:
            raise DataError("y must be the number that curves explain, one a record; found None.")
        settings, beside = self._settings_for(X, groups), self._beside()
        names = [covariate.name for covariate in beside]
        if isinstance(y, str):
            X, (y,) = columns_apart(X, [y])
        columns: list[object] = []
        if beside:
            X, columns = columns_apart(X, names) if Z is None else (X, columns_named(Z, names))
        elif Z is not None:
            raise ParameterError("covariates", "name the columns of Z, with their bounds", "None")
        matrix, basis, labelled = read_matrix(settings, self.basis, X, groups)
        invalid = settings.reading.invalid
        codes, count = units_of(labelled, len(matrix), invalid)
        plan = self._plan(guarantee, basis, count, labelled)
        variables = (*beside, Covariate(TARGET, plan.target))
        numbers, usable = read_covariates(variables, {}, [*columns, y], len(matrix), invalid)
        curves = read_block(matrix, basis, settings.reading)
        lower, upper = plan.limits
        clipped = np.clip(curves.values, lower, upper) - (lower + upper) / 2
        joint = np.column_stack([clipped, *numbers])
        joined = units(Curves(joint, curves.usable & usable), codes)
        rows = coefficients(joined.values[:, : lower.size], plan.analysis)
        vectors = np.column_stack([rows, joined.values[:, lower.size :]])
        return Prepared(plan, np.where(joined.usable[:, None], vectors, 0.0))

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> ScalarPlan:
        choices["bound"].curves_on(flat_grid(choices["basis"]))
        target, covariates = self._target(), self._beside()
        return scalar_plan(guarantee, count, target=target, covariates=covariates, **choices)

    def _checked(self) -> Guarantee:
        guarantee = super()._checked()
        self._target()
        self._beside()
        return guarantee

    def _target(self) -> tuple[float, float]:
        low, high = pair(self.target_bounds, "target_bounds")
        if not low < high:
            raise ParameterError(
                "target_bounds", "be in order", f"({low:g}, {high:g})", "Swap the ends?"
            )
        return low, high

    def _beside(self) -> tuple[Covariate, ...]:
        """Covariates beside the curve, with their bounds."""
        covariates = () if self.covariates is None else stated_covariates(self.covariates)
        for covariate in covariates:
            if covariate.bounds is None or covariate.name == TARGET:
                words = f"be numbers with bounds, none of them called {TARGET!r}, beside a curve"
                raise ParameterError("covariates", words, covariate.name, "Write levels as 0 and 1.")
        return covariates
