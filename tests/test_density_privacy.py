"""What a density's noise is calibrated to, by brute force, and audits that reject a wrong scale.

Audits, their error rates and their power are those of `statistical`.
"""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivacyUnit, PrivateDensity
from dpfda.bases.cells import CellGrid
from dpfda.bases.kernel import KernelBasis
from dpfda.density.cell_errors import choose_cells
from dpfda.density.kernel import DensityKernel
from dpfda.errors import BudgetError, RefusedMechanismError
from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.noise.shares import EXPONENT, share_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, guarantee_for
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records.points import cell_weights
from statistical import Audit, cut_noise, epsilon_bound, fits_only_at_its_scale

UNIT = 1 << EXPONENT
REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE


# The record of a unit.

points_of_units = st.lists(st.lists(st.integers(0, 5), min_size=0, max_size=7), min_size=1, max_size=6)


def weights_of(units: list[list[int]]) -> np.ndarray:
    """Weights of cells from the cells of each unit's points; a unit without any has an unusable one."""
    rows = [(u, cell) for u, cells in enumerate(units) for cell in (cells or [None])]
    codes = np.array([u for u, _ in rows], dtype=np.int64)
    usable = np.array([cell is not None for _, cell in rows])
    index = np.array([cell or 0 for _, cell in rows], dtype=np.int64)
    return np.array(cell_weights(index, usable, codes, 6, EXPONENT), dtype=object)


@given(points_of_units)
def test_a_unit_holds_at_most_one_and_the_sum_is_that_of_the_units(units: list[list[int]]) -> None:
    each = [weights_of([unit]) for unit in units]
    for unit, row in zip(units, each, strict=True):
        assert all(row >= 0)
        assert sum(row) <= UNIT
        # Rounding down loses less than one grid unit a cell.
        assert sum(row) > UNIT - 6 or not unit
        assert row.tolist() == [unit.count(c) * UNIT // max(len(unit), 1) for c in range(6)]
    assert weights_of(units).tolist() == sum(each).tolist()


@given(points_of_units, st.lists(st.integers(0, 5), min_size=0, max_size=7))
def test_neighbours_differ_by_no_more_than_the_widths(units: list[list[int]], other: list[int]) -> None:
    neighbour = [other, *units[1:]]
    difference = weights_of(units) - weights_of(neighbour)
    for guarantee in (PureDP(1), ApproximateDP(1, Fraction(1, 3))):
        for noise in ("laplace", "gaussian") if isinstance(guarantee, ApproximateDP) else ("laplace",):
            _, _, norm, width = share_noise(6, guarantee, REPLACE, noise)
            size = sum(abs(difference)) if norm == "l1" else sum(difference**2)
            assert size <= (width if norm == "l1" else width**2)
            _, _, norm, width = share_noise(6, guarantee, ADD, noise)
            row = weights_of([units[0]])
            assert (sum(row) if norm == "l1" else sum(row**2)) <= (width if norm == "l1" else width**2)


def test_the_widths_are_reached() -> None:
    one, other = weights_of([[0]]), weights_of([[3]])
    assert sum(abs(one - other)) == share_noise(6, PureDP(1), REPLACE)[3]
    assert sum(one) == share_noise(6, PureDP(1), ADD)[3]
    approximate = guarantee_for(1, 0.01)
    width = share_noise(6, approximate, REPLACE, "gaussian")[3]
    assert (width - 1) ** 2 <= sum((one - other) ** 2) < width**2
    assert share_noise(6, approximate, ADD, "gaussian")[3] == UNIT


def test_ungrouped_points_are_units() -> None:
    index, usable = np.array([0, 2, 2, 1]), np.array([True, True, True, False])
    assert cell_weights(index, usable, None, 3, EXPONENT) == [UNIT, 0, 2 * UNIT]


# Scales.


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "7/3"])
def test_laplace_scales_are_the_width_over_epsilon(neighbours: Neighbours, epsilon: str) -> None:
    noise, charged, norm, width = share_noise(10, PureDP(epsilon), neighbours)
    exact = Fraction(2 if neighbours is REPLACE else 1) * UNIT / Fraction(epsilon)
    assert noise == KNormNoise((1,) * 10, (math.ceil(exact),) * 10)
    assert charged == PureDP(epsilon)
    assert (norm, width) == ("l1", neighbours.differences(UNIT))


def test_gaussian_noise_where_it_is_asked_for_and_where_it_is_better() -> None:
    few = guarantee_for(1, 1e-6)
    assert isinstance(share_noise(4, few, REPLACE)[0], KNormNoise)
    # No delta is charged for Laplace noise.
    assert share_noise(4, few, REPLACE)[1] == PureDP(1)
    noise, charged, norm, _ = share_noise(4, few, REPLACE, "gaussian")
    assert isinstance(noise, GaussianNoise)
    assert (charged, norm) == (few, "l2")
    many = guarantee_for(0.01, 0.2)
    assert isinstance(share_noise(4, many, REPLACE)[0], GaussianNoise)
    with pytest.raises(RefusedMechanismError, match="delta must be positive for Gaussian noise"):
        share_noise(4, PureDP(1), REPLACE, "gaussian")


def test_released_counts_have_the_stated_law_and_no_other() -> None:
    density = PrivateDensity(0.5, domain=(0, 1), cells=50)
    points = np.repeat((np.arange(50) + 0.5) / 50, np.arange(50))
    errors = []
    for _ in range(80):
        release = density.fit(points).release_
        errors += (release.raw.counts - np.arange(50)).tolist()
    # Scale 2 / epsilon = 4 persons.
    law = lambda x: np.where(x < 0, np.exp(x / 4) / 2, 1 - np.exp(-x / 4) / 2)  # noqa: E731
    assert fits_only_at_its_scale(errors, law)


# Audits.


def audit_of(density: PrivateDensity, one: float, other: float) -> Audit:
    """As the audit of a mean: two data sets that differ in one point, and the likelihood ratio."""
    rest = np.array([0.1, 0.5, 0.9])
    prepared = [density.prepare(np.append(rest, point)) for point in (one, other)]
    noise = prepared[0].plan.noise
    sums = [np.array(each.total.with_noise([0] * noise.components), dtype=float) for each in prepared]

    made = [each.total.with_noise for each in prepared]
    return Audit(sums, noise, float(density.epsilon), float(density.delta), publish=made)


def worst_pair(density: PrivateDensity) -> tuple[float, float]:
    """Two points whose elements are farthest apart in the noise's norm."""
    kernel = density.mechanism
    elements = kernel.elements(CellGrid.regular(density.cells, (0, 1)), 4)
    norm = 1 if elements.norm == "l1" else 2
    pairs = itertools.combinations(range(len(elements.integers)), 2)
    table = elements.integers.astype(float)
    a, b = max(pairs, key=lambda pair: np.linalg.norm(table[pair[0]] - table[pair[1]], norm))
    middle = (np.arange(density.cells) + 0.5) / density.cells
    return float(middle[a]), float(middle[b])


def kernel_density(noise: str, epsilon: float, components: int, delta: float = 0.0) -> PrivateDensity:
    kernel = DensityKernel(noise=noise, components=components, bandwidth=0.2)
    return PrivateDensity(epsilon, delta, domain=(0, 1), mechanism=kernel, cells=20)


AUDITED = {
    "histogram": (PrivateDensity(1.5, domain=(0, 1), cells=3), 12_000),
    "histogram, gaussian": (
        PrivateDensity(1.0, 0.05, domain=(0, 1), cells=3, noise="gaussian"),
        14_000,
    ),
    "kernel, iclp": (kernel_density("iclp", 1.5, 3), 12_000),
    "kernel, knorm": (kernel_density("knorm", 2.0, 2), 14_000),
    "kernel, gaussian process": (kernel_density("gaussian_process", 1.0, 3, 0.05), 14_000),
}


def audited(name: str) -> tuple[Audit, int]:
    density, trials = AUDITED[name]
    pair = (0.1, 0.9) if name.startswith("histogram") else worst_pair(density)
    return audit_of(density, *pair), trials


@pytest.mark.parametrize("name", AUDITED)
def test_no_event_tells_neighbours_apart_by_more_than_the_claim(name: str) -> None:
    audit, trials = audited(name)
    # To stay below the claim needs less power, but where a delta hides most of what is there.
    bound = audit.bound(trials if audit.delta else trials // 2)
    assert bound <= audit.claim
    # The audit is not blind: most of the claim is really there.
    assert bound >= audit.claim / 2


@pytest.mark.parametrize("name", AUDITED)
def test_noise_cut_by_root_two_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audit, trials = audited(name)
    cut_noise(monkeypatch, GaussianNoise if "gaussian" in name else KNormNoise)
    assert audit.bound(trials) > audit.claim


@pytest.mark.parametrize("cut", [False, True], ids=["as stated", "cut"])
def test_an_audit_through_fit(cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole fits with a person at each of 64 pairs of cells, in the first or in the second of the two.

    Cells have independent noise, so each pair is a trial by itself: neighbours differ in its person
    alone. The event is that the counts of the two cells lie far apart, as one of the data sets has them.
    """
    if cut:
        cut_noise(monkeypatch, KNormNoise)
    density = PrivateDensity(1.5, domain=(0, 128), cells=128)
    # To exceed the claim by its lower confidence bound needs more draws than to stay below it.
    fits, hits = 160 if cut else 80, []
    for first in (0.5, 1.5):
        people, found = 2 * np.arange(64) + first, 0
        for _ in range(fits):
            counts = density.fit(people).release_.raw.counts.reshape(64, 2)
            found += int(np.sum((counts[:, 0] >= 1) & (counts[:, 1] <= 0)))
        hits.append(found)
    trials = 64 * fits
    bound = epsilon_bound((hits[0], hits[1]), trials, 0.0)
    assert (bound > 1.5) == cut
    assert bound >= 1.5 / 2


# Elements of the kernel estimate.

KERNELS = {
    "iclp": DensityKernel(),
    "matched": DensityKernel(eta=1.2, noise="matched"),
    "laplace": DensityKernel(noise="laplace", components=9),
    "knorm": DensityKernel(noise="knorm", components=9),
    "iclp, Matern": DensityKernel(eta=1.3, kernel=Matern(0.15, nu=1.5)),
    "process, Matern": DensityKernel(eta=1.0, noise="gaussian_process", kernel=Matern(0.15, nu=1.5)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_widths_by_brute_force(name: str) -> None:
    elements = KERNELS[name].elements(CellGrid.regular(25, (0, 1)), 300)
    rows = [[int(v) for v in row] for row in elements.integers]

    def norm(row: list[int]) -> int:
        if elements.norm == "l1":
            return sum(map(abs, row))
        return math.isqrt(sum(v * v for v in row) - 1) + 1

    pairs = itertools.combinations([*rows, [0] * len(rows[0])], 2)
    largest = max(norm([a - b for a, b in zip(*pair, strict=True)]) for pair in pairs)
    assert largest <= elements.width(REPLACE) <= largest + 1
    assert max(map(norm, rows)) <= elements.width(ADD) <= max(map(norm, rows)) + 1


@settings(max_examples=30)
@given(points_of_units, st.lists(st.integers(0, 5), min_size=0, max_size=7))
def test_units_of_several_points_move_the_kernel_estimate_by_no_more(
    units: list[list[int]], other: list[int]
) -> None:
    elements = ELEMENTS
    one = np.array(elements.total(weights_of(units).tolist()), dtype=object)
    two = np.array(elements.total(weights_of([other, *units[1:]]).tolist()), dtype=object)
    assert sum(abs(one - two)) <= elements.width(REPLACE) << EXPONENT


ELEMENTS = DensityKernel(components=12, bandwidth=0.15).elements(CellGrid.regular(6, (0, 1)), 10)


def test_the_sensitivity_is_the_direct_one_not_that_of_theorem_14() -> None:
    """Width over scales: the largest sum_j |r_j(x) - r_j(x')| / lambda_j^(1/2), below Theorem 14's."""
    kernel = DensityKernel(eta=1.3, kernel=Matern(0.15, nu=1.5))
    cells = CellGrid.regular(60, (0, 1))
    elements = kernel.elements(cells, 300)
    basis = elements.basis
    values = basis.eigenvalues / basis.eigenvalues[0]
    functions = basis.evaluate(cells.midpoints()[0])
    whole = values**1.3 * functions @ (basis.weights @ basis.values)
    table = values ** (1.3 - 0.5) * functions / whole[:, None]
    direct = max(np.abs(a - b).sum() for a, b in itertools.combinations(table, 2))
    stated = math.ldexp(elements.width(REPLACE), -elements.exponent)
    assert math.isclose(stated, direct, rel_tol=1e-4)
    square = (values**1.3 * functions**2).sum(axis=1) / whole**2
    theorem = 2 * math.sqrt(square.max() * np.sum(values**0.3))
    assert stated < theorem


class TestGaussianProcess:
    """Noise whose covariance is the kernel of the estimate (Hall, Rinaldo & Wasserman's example)."""

    MATERN = Matern(0.15, nu=1.5)
    CELLS = CellGrid.regular(60, (0, 1))

    def test_the_length_is_that_of_the_kernel_space_in_closed_form(self) -> None:
        """|k_x/I(x) - k_x'/I(x')|^2 = k(x,x)/I(x)^2 + k(x',x')/I(x')^2 - 2 k(x,x')/(I(x) I(x'))."""
        kernel = DensityKernel(eta=1.0, noise="gaussian_process", kernel=self.MATERN)
        elements = kernel.elements(self.CELLS, 300)
        points = self.CELLS.midpoints()[0]
        gram = self.MATERN(points[:, None])
        integrals = gram.mean(axis=1)
        scaled = gram / np.outer(integrals, integrals)
        own = np.diag(scaled)
        lengths = np.sqrt(np.maximum(own[:, None] + own - 2 * scaled, 0))
        # The noise has the covariance k over its largest eigenvalue.
        unit = math.sqrt(elements.basis.eigenvalues[0])
        for neighbours, largest in (
            (REPLACE, max(lengths.max(), np.sqrt(own).max())),
            (ADD, np.sqrt(own).max()),
        ):
            stated = math.ldexp(elements.width(neighbours), -elements.exponent)
            assert stated == pytest.approx(unit * largest, rel=1e-4)

    def test_the_path_of_the_noise_has_the_kernel_as_covariance(self) -> None:
        kernel = DensityKernel(eta=1.0, noise="gaussian_process", kernel=self.MATERN)
        elements = kernel.elements(self.CELLS, 300)
        points = np.linspace(0.02, 0.98, 7)
        paths = elements.scales * elements.basis.evaluate(points)
        wanted = self.MATERN(points[:, None]) / elements.basis.eigenvalues[0]
        np.testing.assert_allclose(paths @ paths.T, wanted, atol=0.01 * wanted.max())

    def test_released_paths_have_it_in_their_deviations(self) -> None:
        """At any point a path of the noise has the deviation sigma k(x, x)^(1/2)."""
        mechanism = DensityKernel(eta=1.0, noise="gaussian_process", kernel=self.MATERN)
        density = PrivateDensity(1.0, 1e-6, domain=(0, 1), mechanism=mechanism, cells=60)
        points, records = np.array([0.1, 0.5, 0.83]), np.full(200, 0.4)
        prepared = density.prepare(records)
        elements = prepared.plan.elements
        raws = np.array([density.fit(records).release_.raw(points) for _ in range(120)])
        sigma = prepared.plan.noise.variances()[0] ** 0.5 * 2.0 ** -(elements.exponent + EXPONENT) / 200
        first = elements.basis.eigenvalues[0]
        values = (elements.scales * elements.basis.evaluate(points)) ** 2
        np.testing.assert_allclose(values.sum(axis=1) * first, 1.0, rtol=0.03)
        expected = sigma * np.sqrt(values.sum(axis=1))
        # 120 draws: a deviation is found to 6.5 per cent; four of these are less than the root of two.
        np.testing.assert_allclose(raws.std(axis=0) / expected, 1.0, atol=0.26)


@pytest.mark.parametrize("name", KERNELS)
def test_elements_integrate_to_one(name: str) -> None:
    elements = KERNELS[name].elements(CellGrid.regular(40, (0, 1)), 300)
    for row in (0, 17, 39):
        weights = [0] * 40
        weights[row] = 1
        raw = np.ldexp(np.array(elements.total(weights), dtype=float), -elements.exponent)
        basis = elements.basis
        grid = isinstance(basis, KernelBasis)
        integrals = basis.weights @ basis.values if grid else basis.integrals
        assert math.isclose(raw * elements.scales @ integrals, 1, abs_tol=1e-4)


# Order, ledger, and what a release tells.


def test_the_ledger_is_charged_first_and_without_unused_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger()
    ledger.create("ages", guarantee_for(3, 1e-5), "replace-one", "record")
    density = PrivateDensity(1, 1e-6, domain=(0, 1), cells=4, ledger=ledger.of("ages"))
    release = density.fit([0.1, 0.2, 0.9]).release_
    assert release.guarantee == PureDP(1)
    assert release.certificate.achieved.epsilon <= 1
    monkeypatch.setattr(KNormNoise, "draw", lambda self: pytest.fail("drawn"))
    with pytest.raises(BudgetError):
        density.set_params(epsilon=2.5).fit([0.1, 0.2, 0.9])


@pytest.mark.parametrize("mechanism", ["histogram", "kernel"])
def test_a_release_depends_on_the_noisy_integers_alone(
    mechanism: str, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    density = PrivateDensity(
        1, domain=(0, 1), mechanism=mechanism, unit=PrivacyUnit(neighbours="add-remove", public_size=100)
    )
    files = []
    for name, points in (("few", [0.1, 0.2]), ("many", np.linspace(0, 1, 700))):
        with monkeypatch.context() as patch:
            patch.setattr(
                IntegerSum,
                "with_noise",
                lambda self, noise: tuple((1 << 24) + i for i in range(len(noise))),
            )
            release = density.fit(points).release_
        release(0.5)
        files.append(json.loads(release.save(tmp_path / name).read_text()))
    # Each fit has an identity of its own: fresh randomness, which knows neither records nor noise.
    identities = [written["raw"].pop("release_id") for written in files]
    assert [written.pop("release_id") for written in files] == identities
    assert identities[0] != identities[1]
    assert files[0] == files[1]


def test_a_seed_of_numpy_does_not_reach_the_noise() -> None:
    density = PrivateDensity(1, domain=(0, 1), cells=4)
    found = set()
    for _ in range(3):
        np.random.seed(0)
        found.add(density.fit([0.1, 0.2, 0.9]).release_.raw.noisy_counts)
    assert len(found) == 3


def test_cells_are_chosen_from_public_numbers() -> None:
    density = PrivateDensity(1, domain=(0, 1))
    ends = [density.prepare(np.full(500, x)).plan.cells.shape for x in (0.0, 0.5)]
    spread = density.prepare(np.random.default_rng(1).uniform(size=500)).plan.cells.shape
    assert ends == [spread, spread]
    one = PureDP(1)
    sizes = [choose_cells(n, 1, one, REPLACE) for n in (100, 1000, 10_000, 10**6)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    # Half the noise under add/remove, or twice the epsilon, is the same problem.
    assert choose_cells(1000, 1, one, ADD) == choose_cells(1000, 1, PureDP(2), REPLACE)
