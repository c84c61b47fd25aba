"""Sessions at a pure epsilon: a number of questions, t noise, and no question more."""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpfda
from asked_values import AskedValues
from dpfda import PrivateMean, Session
from dpfda.bases import CosineBasis
from dpfda.bounds import L2Ball
from dpfda.errors import BudgetError, ParameterError, RefusedMechanismError, SessionError
from dpfda.noise.elliptical import StudentForms, student_forms
from dpfda.privacy.guarantees import ApproximateDP, PureDP, within
from dpfda.privacy.ledger import MemoryLedger

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sessions need POSIX file locks")

GRID = np.linspace(0.0, 2.0, 21)
CURVES = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.3, (60, 1))


def mean(**parameters: Any) -> PrivateMean:
    made: dict[str, Any] = {"epsilon": 1.0, "bounds": (-3.0, 3.0), "basis": CosineBasis.on_grid(6, GRID)}
    return PrivateMean(**{**made, **parameters})


def opened(path: Path, questions: int, **parameters: Any) -> Session:
    return mean(**parameters).open_session(CURVES, path, questions=questions)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mean.session"


@pytest.mark.parametrize("forms", [1, 2, 5, 20])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_the_scale_spends_the_budget_and_no_more(forms, epsilon):
    width = 2**40
    noise = student_forms(30, forms, width, PureDP(epsilon))
    spent = noise.achieved("l2", width, PureDP(epsilon)).epsilon
    assert 0.999 * epsilon < spent <= epsilon
    # The closed form, by another road than the enclosure.
    nu = noise.degrees
    assert float(spent) == pytest.approx(
        (nu + forms) * math.asinh(width / noise.scale / 2 / math.sqrt(nu))
    )
    smaller = StudentForms(30, round(noise.scale / math.sqrt(2)), nu, forms)
    assert not within(smaller.achieved("l2", width, PureDP(epsilon)), PureDP(epsilon))
    # One question more costs more.
    more = StudentForms(30, noise.scale, nu, forms + 1)
    assert not within(more.achieved("l2", width, PureDP(epsilon)), PureDP(epsilon))


@pytest.mark.parametrize("forms", [1, 3])
def test_the_loss_is_the_largest_log_ratio_of_the_answers_densities(forms):
    noise = student_forms(8, forms, 10**7, PureDP(Fraction(2)))
    law = stats.multivariate_t(np.zeros(forms), noise.scale**2 * np.eye(forms), df=noise.degrees)
    shift = np.zeros(forms)
    shift[0] = 10**7
    line = np.linspace(-20, 20, 40_001)[:, None] * noise.scale * np.eye(forms)[0]
    ratios = law.logpdf(line - shift) - law.logpdf(line)
    assert np.max(np.abs(ratios)) == pytest.approx(2.0, rel=1e-5)
    # Elsewhere it is no larger.
    anywhere = np.random.default_rng(3).normal(0, 3 * noise.scale, (20_000, forms))
    assert np.max(np.abs(law.logpdf(anywhere - shift) - law.logpdf(anywhere))) <= 2.0 + 1e-9


def test_a_question_has_the_error_of_the_formula_and_less_than_laplace_noise_on_each(tmp_path):
    for questions in (2, 5):
        with opened(tmp_path / f"{questions}", questions, bounds=L2Ball(3.0)) as session:
            session.value(0.5)
            law = session.noise
        width = 2.0 * 3.0
        unit = float(np.sqrt(law.variances()[0])) / law.scale
        ratio = 2 * math.sqrt(questions + 4) * math.sinh(1 / (2 * questions + 4))
        assert unit / ratio == pytest.approx(math.sqrt(questions + 2), rel=0.01)
        assert unit / ratio * width < math.sqrt(2) * questions * width


def values(degrees: int, queries: list[tuple[int, ...]], runs: int, size: int = 4) -> np.ndarray:
    rows = []
    for _ in range(runs):
        drawn = AskedValues((2**20,) * size, degrees=degrees)
        rows.append([drawn.value(query)[0] / 2**20 for query in queries])
    return np.array(rows)


class TestLaw:
    """Kolmogorov-Smirnov tests at 1e-4 each."""

    QUERIES = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1))

    def test_one_value_has_a_t_law(self):
        found = values(3, [self.QUERIES[0]], 1500)[:, 0]
        assert stats.kstest(found, stats.t(3).cdf).pvalue > 1e-4
        assert stats.kstest(found, stats.norm(0, math.sqrt(3)).cdf).pvalue < 1e-4

    def test_all_values_share_one_factor(self):
        found = values(3, list(self.QUERIES), 1500) / [1, 1, math.sqrt(2)]
        square = np.mean(found**2, axis=1)
        assert stats.kstest(square, stats.f(3, 3).cdf).pvalue > 1e-4
        # A factor drawn anew for every question has another law, which this rejects.
        apart = np.column_stack([values(3, [query], 4000)[:, 0] for query in self.QUERIES])
        redrawn = np.mean((apart / [1, 1, math.sqrt(2)]) ** 2, axis=1)
        assert stats.kstest(redrawn, stats.f(3, 3).cdf).pvalue < 1e-4

    @pytest.mark.parametrize("bits", [1, 2, 7])
    def test_is_exact_however_few_bits_there_are_at_first(self, bits):
        found = []
        for _ in range(300):
            drawn = AskedValues((2**20,) * 2, initial_bits=bits, degrees=4)
            first = drawn.value((1, 1))[0]
            drawn.value((1, -1))
            assert drawn.value((1, 1)) == (first, None)
            found.append(first / 2**20 / math.sqrt(2))
        assert stats.kstest(found, stats.t(4).cdf).pvalue > 1e-4

    def test_what_was_drawn_can_be_put_back(self):
        first = AskedValues((2**20,) * 3, initial_bits=3, degrees=3)
        queries = [(1, 2, 3), (0, 1, 1), (5, 0, -1)]
        told = [first.value(query) for query in queries]
        second = AskedValues((2**20,) * 3, initial_bits=3, degrees=3)
        for draw in first.draws:
            second.replay(draw)
        assert [second.value(query) for query in queries] == [(value, None) for value, _ in told]


def test_no_question_more_than_was_paid_for(path):
    session = opened(path, 2)
    first, second = session.value(0.3), session.value(1.1)
    before = path.read_bytes()
    for ask in (
        lambda: session.value(0.5),
        session.integral,
        lambda: session.values([0.3, 0.6]),
    ):
        with pytest.raises(
            SessionError, match="opened for at most 2 linearly independent questions"
        ) as caught:
            ask()
        frame = caught.tb
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        assert frame is None or "values" not in frame.tb_frame.f_locals
    assert path.read_bytes() == before
    assert (session.value(0.3), session.value(1.1)) == (first, second)
    session.suspend()
    with Session.resume(path) as again:
        assert (again.value(0.3), again.value(1.1)) == (first, second)
        with pytest.raises(SessionError, match="None of them was answered"):
            again.value(0.5)


def test_a_batch_that_asks_too_much_is_refused_whole(path):
    with opened(path, 2) as session:
        with pytest.raises(SessionError, match="would answer 3"):
            session.values([0.1, 0.7, 1.3])
        assert session.answers() == []
        session.values([0.1, 0.7])


def test_as_many_questions_as_coefficients_are_the_whole_function(path):
    with opened(path, 50) as session:
        assert session.noise.forms == 6
        assert np.all(np.isfinite(session.values(GRID)))


def test_all_questions_are_charged_when_the_session_is_opened(path):
    ledger = MemoryLedger().create("scans", PureDP(1))
    session = opened(path, 3, ledger=ledger.of("scans"))
    assert session.certificate.guarantee == PureDP(Fraction(1))
    session.values([0.1, 0.9, 1.5])
    session.suspend()
    with pytest.raises(BudgetError):
        opened(path.with_name("other"), 1, ledger=ledger.of("scans"))
    assert not path.with_name("other").exists()


def test_the_estimator_is_left_as_it_was(path):
    asked = mean(mechanism="student-t")
    asked.open_session(CURVES, path, questions=1).close()
    assert asked.mechanism == "student-t"


@pytest.mark.parametrize(
    ("parameters", "questions", "error", "words"),
    [
        ({}, 0, ParameterError, "questions must be"),
        ({}, 1.5, ParameterError, "questions must be"),
        (
            {"delta": 1e-6},
            2,
            RefusedMechanismError,
            "questions must be left out where delta",
        ),
        ({"mechanism": "iclp"}, 2, RefusedMechanismError, "mechanism must be 'student-t'"),
        ({}, None, RefusedMechanismError, "questions="),
    ],
)
def test_what_cannot_be_asked_is_refused_free_of_charge(path, parameters, questions, error, words):
    ledger = MemoryLedger().create("scans", ApproximateDP(1, "1e-6"))
    asked = mean(ledger=ledger.of("scans"), **parameters)
    with pytest.raises(error, match=words):
        asked.open_session(CURVES, path, questions=questions)
    assert not path.exists()
    assert ledger.spent("scans")["epsilon"] == 0


def test_the_whole_function_cannot_be_drawn_of_this_noise():
    with pytest.raises(RefusedMechanismError, match="one functional at a time"):
        student_forms(4, 2, 100, PureDP(Fraction(1))).draw()


def test_intervals_are_those_of_the_t_law(path, tmp_path):
    with opened(path, 1) as session:
        session.value(0.4)
        answer = session.answers()[0]
        session.export(tmp_path / "answers.json")
    low, high = answer.interval(0.99)
    scale = answer.standard_error * math.sqrt(3 / 5)
    assert high - low == pytest.approx(2 * stats.t(5).ppf(0.995) * scale)
    written = json.loads((tmp_path / "answers.json").read_text())
    assert written["answers"][0]["degrees"] == 5
    assert dpfda.load(tmp_path / "answers.json").answers[0].interval(0.99) == (low, high)
    assert "total" not in written
    assert "draw" not in json.dumps(written)
