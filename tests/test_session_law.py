"""Noise values drawn one at a time: one Gaussian path, whatever is asked in whatever order."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from asked_values import AskedValues
from dpfda import PrivateMean, Session
from dpfda.bases import CosineBasis
from dpfda.bounds import L2Ball
from dpfda.errors import StorageError
from dpfda.numerics import exactness
from dpfda.publication.session import conditional, session
from dpfda.publication.session.conditional import ConditionalValues, Draw, Keep
from dpfda.publication.session.journal import Journal
from dpfda.releases.function import ReleasedFunction
from statistical import FALSE_ALARM, lower_limit, normal_only_at_its_scale, upper_limit

SCALES = (900_000, 1_300_000, 400_000, 700_000)
# Independent, and strongly overlapping.
QUERIES = ((5, 2, -1, 3), (4, 3, -1, 2), (5, 1, 0, 3), (1, 1, 4, -2))
RUNS = 800


def covariance(queries: Sequence[Sequence[int]]) -> np.ndarray:
    """Covariance of the noise values, in closed form."""
    matrix = np.array(queries, dtype=float) * np.array(SCALES, dtype=float)
    return matrix @ matrix.T


def whitened(values: np.ndarray, queries: Sequence[Sequence[int]]) -> np.ndarray:
    """Values that are independent and standard if the covariance is that of one path."""
    return np.linalg.solve(np.linalg.cholesky(covariance(queries)), values)


def one_run(order: Sequence[int]) -> np.ndarray:
    """Values of the queries, asked in this order, listed in theirs."""
    values = AskedValues(SCALES)
    told = {index: values.value(QUERIES[index])[0] for index in order}
    return np.array([told[index] for index in range(len(QUERIES))], dtype=float)


class TestLaw:
    @pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)])
    def test_is_that_of_one_path_in_every_order(self, order):
        draws = np.array([one_run(order) for _ in range(RUNS)])
        path = np.array([whitened(row, QUERIES) for row in draws])
        assert normal_only_at_its_scale(path.ravel())
        # The test has power: drawn independently for each query, they would not fit.
        shuffled = np.stack([np.roll(column, k) for k, column in enumerate(draws.T)], axis=1)
        apart = np.array([whitened(row, QUERIES) for row in shuffled])
        assert stats.kstest(apart.ravel(), "norm").pvalue < FALSE_ALARM
        # No two whitened values go together: 6 correlations of size 1 / sqrt(RUNS).
        correlations = np.corrcoef(path.T)[np.triu_indices(4, 1)]
        assert np.abs(correlations).max() < stats.norm.isf(FALSE_ALARM / 12) / math.sqrt(RUNS)

    def test_is_that_of_one_path_when_queries_depend_on_answers(self):
        path, branches = [], []
        for _ in range(RUNS):
            values = AskedValues(SCALES)
            first = values.value(QUERIES[0])[0]
            # Ask next for what pulls the other way.
            following = QUERIES[1] if first > 0 else QUERIES[3]
            second = values.value(following)[0]
            third = tuple(
                2 * a - b if second > first else a + b for a, b in zip(*QUERIES[2:], strict=True)
            )
            asked = (QUERIES[0], following, third)
            branches.append(following)
            told = np.array([first, second, values.value(third)[0]], dtype=float)
            path.append(whitened(told, asked))
        assert len(set(branches)) == 2
        assert normal_only_at_its_scale(np.ravel(path))

    @pytest.mark.parametrize("bits", [1, 3, 256])
    def test_is_exact_however_few_bits_there_are_at_first(self, bits):
        draws = [AskedValues((1,), bits).value((1,))[0] for _ in range(3000)]
        assert rounded_normal_p_value(draws, 1.0) > FALSE_ALARM
        assert rounded_normal_p_value(draws, math.sqrt(2)) < FALSE_ALARM
        assert rounded_normal_p_value(draws, math.sqrt(0.5)) < FALSE_ALARM

    def test_would_be_wrong_if_undecided_uniforms_were_drawn_anew(self):
        draws = [Redrawing((1,), 3).value((1,)) for _ in range(3000)]
        assert rounded_normal_p_value(draws, 1.0) < FALSE_ALARM


class Redrawing:
    """Draws other uniforms where more bits of the same are needed."""

    def __init__(self, scales: Sequence[int], bits: int) -> None:
        self.scales, self.bits = scales, bits

    def value(self, query: tuple[int, ...]) -> int:
        while True:
            rounded, draw = AskedValues(self.scales, self.bits).value(query)
            if draw is not None and draw.bits == self.bits:
                return rounded
            self.bits *= 2


def rounded_normal_p_value(draws: Sequence[int], deviation: float) -> float:
    """Chi-square test that integers have the law of a rounded normal variable."""
    edges = (np.arange(-3, 3) + 0.5) / deviation
    expected = np.diff(np.concatenate([[0], stats.norm.cdf(edges), [1]])) * len(draws)
    observed = np.bincount(np.clip(draws, -3, 3).astype(int) + 3, minlength=7)
    return float(stats.chisquare(observed, expected).pvalue)


def test_values_are_the_rounded_path_by_another_road():
    """Gram-Schmidt and Box-Muller again, in mpmath, on the bits that were drawn."""
    values = AskedValues(SCALES)
    told = [values.value(query) for query in QUERIES]
    with mpmath.workdps(200):
        vectors: list[Any] = []
        normals: list[Any] = []
        for query, (rounded, draw) in zip(QUERIES, told, strict=True):
            assert draw is not None
            (radius, angle) = next(iter(draw.uniforms.values()))
            first, second = (mpmath.mpf(2 * n + 1) / 2 ** (draw.bits + 1) for n in (radius, angle))
            normals.append(mpmath.sqrt(-2 * mpmath.log(first)) * mpmath.cos(2 * mpmath.pi * second))
            b = mpmath.matrix([m * s for m, s in zip(query, SCALES, strict=True)])
            # Normal equations instead of successive projection.
            u = b
            if vectors:
                basis = mpmath.matrix(4, len(vectors))
                for column, vector in enumerate(vectors):
                    basis[:, column] = vector
                u = b - basis * mpmath.lu_solve(basis.T * basis, basis.T * b)
            vectors.append(u / mpmath.norm(u))
            value = sum(mpmath.fdot(b, e) * eta for e, eta in zip(vectors, normals, strict=True))
            assert int(mpmath.nint(value)) == rounded


class TestNewDirections:
    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.tuples(*[st.integers(-2, 2)] * 4), min_size=1, max_size=8))
    def test_one_normal_is_drawn_for_each_and_none_otherwise(self, queries):
        values = AskedValues(SCALES)
        for count in range(1, len(queries) + 1):
            _, draw = values.value(queries[count - 1])
            assert values.drawn == rank(queries[:count])
            assert (draw is None) == (rank(queries[:count]) == rank(queries[: count - 1]))

    def test_are_told_from_old_ones_however_close(self):
        """b differs from a multiple of a by 2^-900 of its size, and c not at all."""
        a, far = (3, -1, 2, 5), 2**900
        b = tuple(far * entry + extra for entry, extra in zip(a, (0, 0, 1, 0), strict=True))
        values = AskedValues(SCALES)
        first, _ = values.value(a)
        close, draw = values.value(b)
        assert draw is not None
        assert values.drawn == 2
        # What was left over is the third coefficient's noise: together they determine it.
        rest, none = values.value((0, 0, 1, 0))
        assert none is None
        _, none = values.value(tuple(7 * entry for entry in a))
        assert none is None
        assert abs(Fraction(close - rest, far) - first) <= 1

    def test_zero_has_no_noise(self):
        values = AskedValues(SCALES)
        assert values.value((0, 0, 0, 0)) == (0, None)
        values.value((1, 0, 0, 0))
        assert values.value((0, 0, 0, 0)) == (0, None)

    def test_do_not_wait_for_coefficients_that_nobody_asks_about(self):
        values = AskedValues(SCALES)
        for query in ((1, 2, 0, 0), (1, -1, 0, 0), (5, 7, 0, 0)):
            values.value(query)
        assert values.drawn == 2


def rank(rows: Sequence[Sequence[int]]) -> int:
    """Rank by elimination in fractions."""
    matrix = [[Fraction(entry) for entry in row] for row in rows]
    found = 0
    for column in range(4):
        pivot = next((k for k in range(found, len(matrix)) if matrix[k][column]), None)
        if pivot is None:
            continue
        matrix[found], matrix[pivot] = matrix[pivot], matrix[found]
        for k in range(found + 1, len(matrix)):
            factor = matrix[k][column] / matrix[found][column]
            matrix[k] = [a - factor * b for a, b in zip(matrix[k], matrix[found], strict=True)]
        found += 1
    return found


class TestMemory:
    def test_a_query_again_has_the_same_value_also_after_refinement(self):
        # With enclosures as wide as all normals drawn so far, one run in twenty asked for more bits.
        sizes = [self.bits_of_one_run() for _ in range(200)]
        assert max(sizes) > 4

    @staticmethod
    def bits_of_one_run():
        """Most bits that a query asked for; fails where a query again differs, or draws."""
        values = AskedValues(SCALES, initial_bits=4)
        told, sizes = [], []
        for query in itertools.islice(itertools.product((-3, 1, 2), repeat=4), 40):
            value, draw = values.value(query)
            told.append((query, value))
            sizes.append(0 if draw is None else draw.bits)
        again = [values.value(query) for query, _ in told]
        assert [value for value, _ in again] == [value for _, value in told]
        assert all(draw is None for _, draw in again)
        return max(sizes)

    def test_bits_are_only_ever_appended(self):
        # One run sees a later query ask for more bits about every other time; in 80 runs some must.
        assert sum(self.refined_in_one_run() for _ in range(80)) > 0

    @staticmethod
    def refined_in_one_run():
        """How often a later query appended bits; fails where it changed those before."""
        values = AskedValues(SCALES, initial_bits=2)
        known: dict[int, tuple[int, tuple[int, int]]] = {}
        refined = 0
        for query in itertools.islice(itertools.product((-3, 1, 2), repeat=4), 40):
            _, draw = values.value(query)
            for number, pair in ({} if draw is None else draw.uniforms).items():
                if number in known:
                    bits, before = known[number]
                    assert tuple(value >> (draw.bits - bits) for value in pair) == before
                    refined += draw.bits > bits
                known[number] = draw.bits, pair
        return refined

    def test_what_was_drawn_can_be_put_back(self):
        first, second = (AskedValues(SCALES, initial_bits=2) for _ in range(2))
        told = []
        for query in itertools.islice(itertools.product((-3, 1, 2), repeat=4), 40):
            value, _ = first.value(query)
            told.append((query, value))
        for draw in first.draws:
            second.replay(draw)
        # The same answers. By another way to the same variable more bits may be needed to round it:
        # they are drawn once, and asked again, nothing is drawn.
        assert [second.value(query)[0] for query, _ in told] == [value for _, value in told]
        assert [second.value(query) for query, _ in told] == [(value, None) for _, value in told]

    @pytest.mark.parametrize(
        "draw",
        [
            Draw(256, {0: (1, 2)}, None),
            Draw(256, {3: (1, 2)}, (0, 1, 0, 0)),
            Draw(128, {1: (1, 2)}, (0, 1, 0, 0)),
            Draw(512, {1: (1, 2)}, (0, 1, 0, 0)),
        ],
        ids=["other bits", "out of turn", "fewer bits", "bits of one alone"],
    )
    def test_contradictions_are_refused(self, draw):
        values = AskedValues(SCALES)
        _, kept = values.value((1, 0, 0, 0))
        assert kept is not None
        with pytest.raises(StorageError, match="its draws contradict each other"):
            values.replay(draw)


# --- privacy and accuracy of whole sessions ---

GRID = np.linspace(0.0, 1.0, 9)
BASIS = CosineBasis.on_grid(3, GRID)
EPSILON, DELTA = 1.0, 0.3


class NoDisk:
    """A journal that keeps nothing: the law does not depend on where records go."""

    path = None

    def append(self, records: list[Any]) -> None: ...

    def check(self) -> None: ...

    def check_process(self) -> None: ...

    def release(self) -> None: ...


def parts(tmp_path: Any, name: str, curves: np.ndarray, **parameters: Any) -> tuple[Any, ...]:
    """Frame and sum of a session, from its file, to start many from one set of data."""
    made = {"epsilon": EPSILON, "delta": DELTA, "bounds": L2Ball(1.0), "mechanism": "gaussian"}
    mean = PrivateMean(basis=BASIS, **{**made, **parameters})
    mean.open_session(curves, tmp_path / name).suspend()
    opened, records = Journal.open(tmp_path / name)
    opened.close()
    frame = ReleasedFunction.from_json(records[0]["release"])
    return frame, tuple(int(value, 16) for value in records[0]["total"])


def started(made: tuple[Any, ...]) -> Session:
    frame, total = made
    return Session(NoDisk(), frame, total, frame.noise)  # type: ignore[arg-type]


class Halved(ConditionalValues):
    """Noise of half the variance that was paid for."""

    def __init__(self, scales: Sequence[int], degrees: int = 0) -> None:
        super().__init__([round(scale / math.sqrt(2)) for scale in scales], degrees=degrees)


class Forgetful(ConditionalValues):
    """Noise that is drawn anew for every query."""

    def __init__(self, scales: Sequence[int], degrees: int = 0) -> None:
        super().__init__(scales, degrees=degrees)
        self.scales = scales

    def noise_of(self, query: tuple[int, ...], keep: Keep) -> int:
        return AskedValues(self.scales).value(query)[0]


def attack(asked: Session) -> float:
    """Adaptive queries that all depend on the mean's level, and what they say of it together."""
    level = asked.integral(0.0, 1.0)
    # The same in other words, chosen by the answer, and in two halves.
    factor = 3.0 if level > 0 else -5.0
    scaled = asked.inner(lambda t: factor + 0 * t) / factor
    cut = 0.25 if scaled > level else 0.5
    halves = asked.integral(0.0, cut) + asked.integral(cut, 1.0)
    return (level + scaled + halves) / 3


def level(asked: Session) -> float:
    """One query: where noise is not drawn again, the attack's others say nothing more."""
    return asked.integral(0.0, 1.0)


def audited_delta(
    tmp_path: Any, errors: Sequence[float], runs: int, asks: Callable[[Session], float] = attack
) -> list[float]:
    """Lower limits of delta at epsilon, from the best event about the attack's score."""
    ones, others = np.ones((4, 9)), np.ones((4, 9))
    others[0] = -1.0
    scores = []
    for name, curves in (("a", ones), ("b", others)):
        made = parts(tmp_path, name, curves)
        scores.append(np.array([asks(started(made)) for _ in range(runs)]))
    frame = made[0]
    unit = 2.0**-frame.exponent / frame.count * frame.shrinkage[0]
    shift, deviation = 2 / 4 * frame.shrinkage[0], frame.noise.scales[0] * unit
    # The event that attains delta: log density ratio above epsilon. Known beforehand.
    threshold = 1.0 * frame.shrinkage[0] - shift / 2 + EPSILON * deviation**2 / shift
    hits = [int(np.sum(score > threshold)) for score in scores]
    return [
        lower_limit(hits[0], runs, error) - math.exp(EPSILON) * upper_limit(hits[1], runs, error)
        for error in errors
    ]


class TestAudit:
    """Neighbouring data, four queries chosen by the answers, Clopper-Pearson limits."""

    def test_stays_below_the_claim(self, tmp_path):
        found, likely = audited_delta(tmp_path, (FALSE_ALARM / 2, 1e-3), 900)
        assert found <= DELTA
        # The limit is not idle: these data can be told apart, by more than five deviations of 900 runs.
        assert likely > 0

    @pytest.mark.parametrize(
        ("wrong", "runs", "asks"), [(Halved, 2000, level), (Forgetful, 800, attack)]
    )
    def test_finds_noise_that_is_too_small_or_drawn_again(
        self, tmp_path, monkeypatch, wrong, runs, asks
    ):
        monkeypatch.setattr(session, "ConditionalValues", wrong)
        assert audited_delta(tmp_path, (1e-3,), runs, asks)[0] > DELTA


FUNCTIONALS: dict[str, Callable[[Session], float]] = {
    "value": lambda asked: asked.value(0.3),
    "derivative": lambda asked: asked.derivative(0.3),
    "second derivative": lambda asked: asked.derivative(0.3, 2),
    "integral": lambda asked: asked.integral(0.1, 0.7),
    "inner": lambda asked: asked.inner(np.exp),
}


def expected(name: str, values: Callable[[Any], Any]) -> float:
    """The functional of a smooth function, in closed form or by quadrature of high order."""
    if "derivative" in name:
        return float(mpmath.diff(values, 0.3, 2 if name.startswith("second") else 1))
    if name == "value":
        return float(values(mpmath.mpf("0.3")))
    low, high = (0.1, 0.7) if name == "integral" else (0, 1)
    weight = mpmath.exp if name == "inner" else (lambda t: 1)
    return float(mpmath.quad(lambda t: values(t) * weight(t), [low, high]))


@pytest.mark.parametrize("name", list(FUNCTIONALS))
def test_answers_are_the_functional_without_noise_plus_noise_of_the_stated_error(tmp_path, name):
    generator = np.random.default_rng(3)
    curves = 0.2 * np.cos(np.pi * GRID) + generator.uniform(-0.5, 0.5, (30, 1))
    made = parts(tmp_path, "s", curves, bounds=(-0.4, 0.8))
    # The mean of the clipped curves, by least squares on the three functions.
    clipped = np.clip(curves, -0.4, 0.8) - 0.2
    design = np.stack([np.sqrt(2.0 - (k == 0)) * np.cos(k * np.pi * GRID) for k in range(3)], axis=1)
    root = np.sqrt(BASIS.weights)[:, None]
    coefficients = np.linalg.lstsq(design * root, clipped.mean(axis=0) * root[:, 0], rcond=None)[0]
    shrunk = coefficients * made[0].shrinkage

    def truth(t: Any) -> Any:
        waves = [mpmath.sqrt(2 - (k == 0)) * mpmath.cos(k * mpmath.pi * t) for k in range(3)]
        return mpmath.mpf("0.2") + sum(c * w for c, w in zip(shrunk, waves, strict=True))

    target = expected(name, truth)
    scores = []
    for _ in range(500):
        asked = started(made)
        value = FUNCTIONALS[name](asked)
        scores.append((value - target) / asked.answers()[0].standard_error)
    assert normal_only_at_its_scale(scores)


def test_only_the_operating_system_is_asked_for_bits(monkeypatch):
    asked = []

    def bits(count: int) -> int:
        asked.append(count)
        return 2 ** (count - 1) + 12345

    monkeypatch.setattr(exactness, "system_bits", bits)
    first, second = (AskedValues(SCALES).value(QUERIES[0])[0] for _ in range(2))
    assert first == second
    assert asked == [conditional.INITIAL_BITS] * 4
