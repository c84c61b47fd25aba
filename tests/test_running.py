"""A curve a month: factorisations, sensitivity, laws, the file through crashes, words and files."""

import itertools
import json
import math
import os
import pickle
import shutil
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from dpfda import Domain, PrivacyUnit, PrivateMean, PrivateRunningMean, load
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.errors import (
    BudgetError,
    DataError,
    DpfdaError,
    ParameterError,
    SessionError,
    StorageError,
)
from dpfda.front.app import app
from dpfda.mean.running.months import Months, Row
from dpfda.mean.running.plan import POWERS, SHIFT, Factorisation, best_power
from dpfda.mean.running.release import ReleasedRunningMean
from dpfda.noise import BoxNoise, GaussianNoise
from dpfda.noise.repeated import SummedNoise
from dpfda.numerics import exactness
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import recomputed
from dpfda.publication.session.journal import Journal
from dpfda.records import LongCurves
from dpfda.testing import check_release, exact_totals
from statistical import FALSE_ALARM, fits_only_at_its_scale, normal_only_at_its_scale

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the state needs POSIX file locks"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

GRID = np.linspace(0.0, 2.0, 12)
CURVES = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.3, (60, 1))


def running(epsilon: Any = 1.0, **given: Any) -> PrivateRunningMean:
    return PrivateRunningMean(
        epsilon,
        **{
            "bounds": (-3.0, 3.0),
            "steps": 8,
            "domain": Domain(GRID),
            "unit": "home",
            "most_months": 1,
            **given,
        },
    )


def of_rho(**given: Any) -> PrivateRunningMean:
    return running(None, rho=0.5, **given)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "means.state"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were drawn for noise, in order."""
    real, seen = exactness.system_bytes, []

    def counted(count: int) -> bytes:
        seen.append(count)
        return real(count)

    monkeypatch.setattr(exactness, "system_bytes", counted)
    return seen


def matrix_of(made: Factorisation) -> np.ndarray:
    rows = [made.row(month) + [0] * (made.steps - month) for month in range(1, made.steps + 1)]
    return np.array(rows, dtype=np.int64)


# --- factorisations ---


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("steps", [1, 5, 40])
def test_errors_are_those_of_the_inverse_matrix(power, steps):
    """By another road: the least squares estimate from all rows so far, of any month and of all."""
    made = Factorisation.of_power(power, steps, 1)
    matrix = matrix_of(made).astype(float)
    own, means = made.errors("l2")
    scale = np.sqrt((matrix[:, 0] ** 2).sum())
    for month in range(1, steps + 1):
        rows = matrix[:month, :month]
        covariance = np.linalg.inv(rows.T @ rows)
        assert own[month - 1] == pytest.approx(scale * np.sqrt(covariance[-1, -1]), rel=1e-4)
        mean = np.full(month, 1 / month)
        assert means[month - 1] == pytest.approx(scale * np.sqrt(mean @ covariance @ mean), rel=1e-4)


def test_two_powers_make_the_running_sums():
    sums = np.tril(np.ones((30, 30)))
    for power in POWERS:
        first, second = (matrix_of(Factorisation.of_power(p, 30, 1)) for p in (power, 1 - power))
        product = first / first[0, 0] @ (second / second[0, 0])
        np.testing.assert_allclose(product, sums, atol=30 * 2.0**-15)


@pytest.mark.parametrize("norm", ["box", "l2"])
@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("power", [0.0, 0.1, 0.3, 0.5])
def test_no_unit_moves_the_rows_further_than_stated(power, most, norm):
    """Over all months that a unit may be in, at the extreme points of the cube."""
    made = Factorisation.of_power(power, 5, most)
    matrix, largest = matrix_of(made), 0
    for months in itertools.combinations(range(5), most):
        for signs in itertools.product((-1, 1), repeat=most):
            moved = matrix[:, months] @ np.array(signs)
            size = int(np.abs(moved).sum()) if norm == "box" else int((moved**2).sum())
            largest = max(largest, size)
    # Attained, and rounded up where it is a root.
    assert made.moved(norm) == (largest if norm == "box" else math.isqrt(largest - 1) + 1)


@pytest.mark.parametrize("total", [False, True])
def test_weights_of_rows_are_those_of_the_sums(total):
    made = Factorisation.of_power(0.3, 25, 1)
    for month in (1, 2, 13, 25):
        weights = np.array(made.weights(month, total), dtype=object)
        back = weights @ matrix_of(made)[:month, :month].astype(object)
        wanted = np.ones(month) if total else np.eye(month)[-1]
        error = np.array(back / 2.0**SHIFT - wanted, dtype=float)
        assert np.abs(error).max() < 2.0**-20


@pytest.mark.parametrize(("steps", "most"), [(64, 1), (64, 12), (120, 2), (12, 12)])
def test_the_least_score_is_chosen_and_pure_noise_is_for_each_month_alone(steps, most):
    best = best_power(steps, most, "l2")
    scores = [Factorisation.of_power(power, steps, most).score("l2") for power in POWERS]
    assert best.score("l2") == min(scores)
    assert best_power(steps, most, "box").own
    assert best_power(steps, most, "box").moved("box") == most


def test_columns_that_rise_are_refused():
    for column in ((1, 2), (0,), (4, -1), (1, 1, 1)):
        with pytest.raises(ParameterError, match="column must fall from a positive number"):
            Factorisation(column, 2, 1)


@pytest.mark.parametrize("steps", [64])
def test_the_running_mean_has_two_fifths_of_the_error_of_composing(steps):
    """Composed are 64 running means, each for rho / 64; or 64 months, each for epsilon / 64."""
    months = np.arange(1, steps + 1)
    of_means = np.sqrt(steps) / months
    for made, norm, rival in (
        (best_power(steps, 1, "l2"), "l2", of_means),
        (best_power(steps, 1, "box"), "box", steps / np.sqrt(months)),
    ):
        own, errors = made.errors(norm)
        assert np.sqrt(np.mean(errors**2) / np.mean(rival**2)) < 0.4
        assert errors[-1] / rival[-1] < 0.4
        assert np.sqrt(np.mean((errors / rival) ** 2)) < 0.4
        assert own.mean() < 1.25


# --- the guarantee ---


def planned(**given: Any) -> Any:
    return running(**given).plan(60)


@pytest.mark.parametrize("most", [1, 3])
def test_scales_are_those_of_the_proof_and_smaller_ones_are_refused(most):
    box = planned(epsilon=0.5, most_months=most)
    chosen = box.chosen
    widths = np.array(box.widths(chosen.cells), dtype=float)
    np.testing.assert_allclose(chosen.law.scales, most * widths / 0.5, rtol=1e-6)
    normal = planned(epsilon=None, rho=0.5, most_months=most)
    chosen, made = normal.chosen, normal.chosen.factorisation
    assert isinstance(chosen.law, GaussianNoise)
    widths = np.array(normal.widths(chosen.cells), dtype=float) * made.moved("l2")
    # rho = |shift|^2 / 2 in units of the deviations, which are in proportion to the widths.
    np.testing.assert_allclose(chosen.law.scales, widths * np.sqrt(12), rtol=1e-6)
    for plan, norm in ((box, "box"), (normal, "l2")):
        law, sizes = plan.chosen.law, plan.moved(plan.chosen.factorisation, plan.chosen.cells, norm)
        assert within(recomputed(law, "box", sizes, plan.guarantee), plan.guarantee)
        cut = type(law)(tuple(round(scale / math.sqrt(2)) for scale in law.scales))
        with pytest.raises(DpfdaError, match="which is more than"):
            recomputed(cut, "box", sizes, plan.guarantee)
        # Larger ones by sqrt(2) would give less than half as much, or sqrt(2) less.
        wide = type(law)(tuple(round(scale * math.sqrt(2)) for scale in law.scales))
        given = recomputed(wide, "box", sizes, plan.guarantee)
        least = type(given)(*(getattr(plan.guarantee, term) * 3 / 4 for term in given.terms))
        assert within(given, least)


def test_a_delta_keeps_its_exact_profile():
    plan = planned(epsilon=1.0, delta=0.05)
    assert isinstance(plan.chosen.law, GaussianNoise)
    assert isinstance(plan.guarantee, ApproximateDP)
    assert within(plan.achieved(), plan.guarantee)
    assert plan.achieved().delta > plan.guarantee.delta * 0.999
    pure = planned(epsilon=1.0, delta=1e-12)
    # Box noise has less of it, and spends no delta.
    assert isinstance(pure.chosen.law, BoxNoise)
    assert pure.guarantee == PureDP(1)


def sums_of(plan: Any, curves: np.ndarray) -> np.ndarray:
    """Exact sums over cells of a month, through a mean of its own."""
    summed = (
        running(domain=None).month(curves, None, plan.one.basis).records.total(plan.month(len(curves)))
    )
    return np.array(exact_totals(summed), dtype=object)


def rows_of(plan: Any, released: list[ReleasedRunningMean]) -> np.ndarray:
    """The noisy rows (T, M), from the means of single months that were published."""
    made = plan.chosen.factorisation
    months = np.array([each.latest.noisy_sum for each in released], dtype=object)
    weights = np.array([made.row(t) + [0] * (len(released) - t) for t in range(1, len(released) + 1)])
    rows = weights.astype(object) @ months
    return np.array(rows / 2.0**made.shift, dtype=float)


def test_the_noise_of_months_is_the_box_law(path, quick):
    few = PrivateRunningMean(2.0, bounds=(0, 1), steps=220, domain=Domain([0.0, 0.5, 1.0]))
    curves = np.full((4, 3), 0.75)
    with few.open(path) as months:
        released = [months.publish(curves) for _ in range(220)]
    law, plan = months.plan.chosen.law, months.plan
    exact = sums_of(plan, curves).astype(float)
    noise = np.array([each.latest.noisy_sum for each in released], dtype=float) - exact
    largest = np.abs(noise / np.array(law.scales)).max(axis=1)
    assert fits_only_at_its_scale(largest, stats.gamma(law.components).cdf)
    # What a home can be found by: at most epsilon, and nearly that.
    shift = np.array(plan.widths(plan.chosen.cells)) / np.array(law.scales)
    ratios = np.abs(noise / np.array(law.scales) + shift).max(axis=1) - largest
    assert 2.0 * 0.999 < ratios.max() <= 2.0
    # The running mean is of the same rows, added up.
    np.testing.assert_array_equal(
        np.cumsum([each.latest.noisy_sum for each in released], axis=0)[-1], released[-1].noisy_sum
    )
    assert isinstance(released[-1].noise, SummedNoise)
    assert released[0].noise == law


def test_the_noise_of_rows_is_normal_and_independent(path, quick):
    few = PrivateRunningMean(
        None, rho=0.5, bounds=(0, 1), steps=220, domain=Domain([0.0, 0.5, 1.0]), most_months=2
    )
    curves = np.full((4, 3), 0.75)
    with few.open(path) as months:
        released = [months.publish(curves) for _ in range(220)]
    plan = months.plan
    assert not plan.chosen.factorisation.own
    totals = np.cumsum([sums_of(plan, curves)] * 220, axis=0).astype(float)
    matrix = matrix_of(plan.chosen.factorisation).astype(float)
    exact = matrix @ np.array([sums_of(plan, curves)] * 220).astype(float)
    noise = (rows_of(plan, released) - exact) / np.array(plan.chosen.law.scales)
    assert normal_only_at_its_scale(noise.ravel())
    # The stated deviation of the running mean's noise is what is there; months have noise in common.
    scaled = [
        (np.array(each.noisy_sum, dtype=float) / 2.0**SHIFT - total)
        / np.sqrt(each.noise.variances())
        * 2.0**SHIFT
        for each, total in zip(released[::20], totals[::20], strict=True)
    ]
    added = np.tril(np.ones((220, 220))) @ np.linalg.inv(matrix)
    unit = (added / np.linalg.norm(added, axis=1, keepdims=True))[::20]
    square = np.sum(scaled * np.linalg.solve(unit @ unit.T, scaled))
    low, high = stats.chi2(33).ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])
    assert low < square < high


class TestAttack:
    """Who knows all but one home, and sees every month, and chooses months by what was published."""

    TRIALS = 500

    def ratios(self, folder: Path) -> np.ndarray:
        """Log likelihood ratios of all that is seen, true over false, where a home is in both months."""
        grid = Domain([0.0, 0.5, 1.0])
        estimator = PrivateRunningMean(None, rho=0.5, bounds=(0, 1), steps=2, domain=grid, most_months=2)
        plan, other, found = estimator.plan(4), 0.4, []

        def curves(other: float, value: float) -> np.ndarray:
            return np.vstack([np.full((3, 3), other), np.full((1, 3), value)])

        @cache
        def exact(other: float, value: float) -> np.ndarray:
            return sums_of(plan, curves(other, value)).astype(float)

        for trial in range(self.TRIALS):
            with Months.open(estimator, folder / f"{trial}", plan) as months:
                sums, seen = [np.zeros((2, 3)), np.zeros((2, 3))], []
                for month in range(2):
                    # The second month's data depend on what the first one told.
                    if month and seen[0](0.5) > 0.5:
                        other = 0.6
                    seen.append(months.publish(curves(other, 0.0)))
                    for each, value in zip(sums, (0.0, 1.0), strict=True):
                        each[month] = exact(other, value)
            matrix = matrix_of(plan.chosen.factorisation).astype(float)
            rows, scales = rows_of(plan, seen), np.array(plan.chosen.law.scales, dtype=float)
            logs = [-0.5 * np.sum(((rows - matrix @ each) / scales) ** 2) for each in sums]
            found.append(logs[0] - logs[1])
        return np.array(found)

    def test_sees_the_loss_that_was_charged_and_no_more(self, tmp_path, quick):
        """It is normal with mean rho and variance 2 rho; of noise cut by sqrt(2) it would not be."""
        ratios = self.ratios(tmp_path)
        assert normal_only_at_its_scale((ratios - 0.5) / math.sqrt(2 * 0.5))


def test_one_charge_pays_for_all_months_before_anything_is_drawn(path, drawn):
    ledger = MemoryLedger()
    ledger.create("loads", PureDP(1), Neighbours.REPLACE_ONE, "home-month")
    with running(ledger=ledger.of("loads")).open(path) as months:
        amount = ledger.spent("loads")
        assert amount.values == (1,)
        assert drawn == []
        first, second = (months.publish(CURVES) for _ in range(2))
        assert ledger.spent("loads") == amount
        assert [record.action for record in ledger.history("loads")][1:] == ["charge"]
    # Of one charge, however many of its releases are added up.
    assert compose([first, second, second.latest]) == PureDP(1)
    again = path.with_name("other")
    with pytest.raises(BudgetError):
        running(ledger=ledger.of("loads")).open(again)
    assert not again.exists()


# --- the file, through whatever happens ---


def test_months_go_on_from_the_file(path):
    for estimator in (running(), of_rho()):
        state = path.with_name(f"{estimator.rho}")
        with estimator.open(state) as months:
            before = [months.publish(CURVES + k) for k in range(3)]
            with pytest.raises(SessionError, match="is open elsewhere"):
                estimator.resume(state)
        with pytest.raises(SessionError, match="The months are suspended"):
            months.publish(CURVES)
        with estimator.resume(state) as months:
            assert months.published == 3
            for month, known in enumerate(before, 1):
                found = months.release(month)
                assert found.to_json() == known.to_json()
            after = months.publish(CURVES)
        assert after.months == (1, 4)
        assert after.certificate == before[0].certificate


def test_a_month_that_was_published_is_never_drawn_again_whatever_the_data(path, drawn):
    with of_rho().open(path) as months:
        first, second = months.publish(CURVES, month=1), months.publish(CURVES, month=2)
        used = len(drawn)
        assert months.publish(CURVES + 1, month=1).to_json() == first.to_json()
        assert months.publish(np.full((3, 12), np.nan), month=2).to_json() == second.to_json()
        assert (len(drawn), months.published) == (used, 2)
        with pytest.raises(ParameterError, match="month must be one that was published, or the next, 3"):
            months.publish(CURVES, month=5)


def test_closing_destroys_the_file_and_keeps_what_was_published(path):
    with of_rho().open(path) as months:
        release = months.publish(CURVES)
        months.close()
        assert not path.exists()
        assert months.release_.to_json() == release.to_json()
        for call in (lambda: months.publish(CURVES), months.close):
            with pytest.raises(SessionError, match=r"The months are closed\.$"):
                call()


def test_no_month_more_than_was_paid_for(path):
    with running(steps=2).open(path) as months:
        months.publish(CURVES)
        months.publish(CURVES)
        with pytest.raises(ParameterError, match="for the 2 months that were paid for; found one more"):
            months.publish(CURVES)
        assert months.release_.months == (1, 2)


def test_other_parameters_are_refused(path):
    running().open(path).suspend()
    others: list[dict[str, Any]] = [
        {"epsilon": 2.0}, {"bounds": (-3, 4)}, {"steps": 9}, {"most_months": 2}, {"unit": "person"}
    ]  # fmt: skip
    for given in others:
        with pytest.raises(ParameterError, match="parameters must be those that the file was opened"):
            running(**given).resume(path)
    running().resume(path).suspend()


def test_copies_and_damage_are_refused(path, tmp_path):
    with of_rho().open(path) as months:
        months.publish(CURVES)
    copy = Path(shutil.copy(path, tmp_path / "copy"))
    os.chmod(copy, 0o600)
    with pytest.raises(SessionError, match="is a copy, or was moved"):
        of_rho().resume(copy)
    of_rho().resume(copy, moved=True).suspend()
    os.chmod(path, 0o644)
    with pytest.raises(StorageError, match="readable by its owner alone"):
        of_rho().resume(path)
    os.chmod(path, 0o600)
    path.write_bytes(path.read_bytes().replace(b'"units":60', b'"units":61'))
    with pytest.raises(StorageError, match="is damaged"):
        of_rho().resume(path)
    with pytest.raises(StorageError, match="must not exist yet"):
        of_rho().open(path)
    with pytest.raises(SessionError, match="cannot be pickled"):
        pickle.dumps(months)


def test_data_that_cannot_be_used_cost_no_month(path, drawn):
    with of_rho().open(path, n=60) as months:
        for wrong in (CURVES[:1], np.full((5, 12), np.inf), CURVES[:, :7]):
            with pytest.raises((DataError, ParameterError)):
                months.publish(wrong)
        assert (months.published, drawn) == (0, [])
        months.publish(CURVES)


class Died(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", ["write", "fsync"])
def test_death_at_every_step_tells_no_month_twice(path, monkeypatch, name, half):
    """The process dies at its n-th write or sync; another goes on with other data."""
    real, left = getattr(os, name), [math.inf]

    def dying(descriptor: int, *data: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            if half and data:
                real(descriptor, data[0][: len(data[0]) // 2])
            raise Died
        return real(descriptor, *data)

    monkeypatch.setattr(os, name, dying)
    told: dict[int, object] = {}
    of_rho().open(path).suspend()
    deaths = 0
    for step in itertools.islice(itertools.cycle((1, 2, 3)), 12):
        months = of_rho().resume(path)
        left[0] = step
        try:
            for _ in range(2):
                if months.published < 8:
                    release = months.publish(CURVES + step)
                    told[months.published] = release.to_json()
        except Died:
            deaths += 1
        left[0] = math.inf
        months.suspend()
    with of_rho().resume(path) as months:
        assert {month: months.release(month).to_json() for month in told} == told
        assert months.published == 8
    assert deaths >= 3


def publish_until_killed(path: Path, pipe: int) -> None:
    """Go on with the next month, and tell the parent what was published."""
    with os.fdopen(pipe, "w") as tell:
        months = of_rho(steps=1000).resume(path)
        while True:
            release = months.publish(CURVES)
            tell.write(json.dumps([months.published, list(release.latest.noisy_sum)]) + "\n")
            tell.flush()


# Calls to the system at which one dies are gone through one by one in the test before.
@pytest.mark.parametrize("least", [8, pytest.param(20, marks=pytest.mark.thorough)])
def test_processes_killed_at_any_instant_publish_each_month_once(path, least):
    # A killed process publishes a dozen months at most: there are enough for all of them.
    of_rho(steps=1000).open(path, n=60, columns=12).suspend()
    told: dict[int, set[str]] = {}
    generator, deaths, wait = np.random.default_rng(5), 0, 0.03
    for _ in range(300):
        if deaths >= least and len(told) > 1.5 * least:
            break
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                publish_until_killed(path, write)
            finally:
                os._exit(1)
        os.close(write)
        time.sleep(wait * (1 + 2 * generator.random()))
        os.kill(child, 9)
        deaths += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        with os.fdopen(read) as handle:
            for line in handle:
                if line.endswith("\n"):
                    month, noisy = json.loads(line)
                    told.setdefault(month, set()).add(json.dumps(noisy))
        if not told:
            # The machine is too busy for a month in this time.
            wait *= 1.3
    assert deaths >= least
    assert len(told) > 1.5 * least
    assert all(len(rows) == 1 for rows in told.values())
    with of_rho(steps=1000).resume(path) as months:
        assert months.published >= max(told)
        found = {month: {json.dumps(list(months.release(month).latest.noisy_sum))} for month in told}
        assert found == told


def test_a_child_process_is_refused(path):
    with running().open(path) as months:
        child = os.fork()
        if child == 0:
            try:
                months.publish(CURVES)
                os._exit(0)
            except SessionError:
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        months.publish(CURVES)


def test_no_record_is_longer_for_other_data(tmp_path):
    lengths = set()
    for place, curves in enumerate((np.full((60, 12), -3.0), CURVES, np.full((60, 12), 1e-9))):
        state = tmp_path / str(place)
        with of_rho().open(state) as months:
            before = state.stat().st_size
            months.publish(CURVES)
            middle = state.stat().st_size
            months.publish(curves)
        lengths.add((middle - before, state.stat().st_size - middle))
    # The first month's has what the releases have in common, with a name drawn at random.
    assert len({second for _, second in lengths}) == 1


def test_secret_sums_are_kept_only_where_later_rows_need_them(path):
    for estimator, secret in ((running(), False), (of_rho(), True)):
        state = path.with_name(f"{secret}")
        with estimator.open(state) as months:
            months.publish(CURVES)
        lines = [json.loads(line.split(b"\t")[0]) for line in state.read_bytes().splitlines()]
        assert [bool(line["total"]) for line in lines if "month" in line] == [secret]


# --- what is released ---


def test_months_are_those_of_their_own_curves(path):
    """Without noise to speak of: each month's mean, and the mean of all curves so far."""
    sets = [CURVES[:30], CURVES[30:] + 0.5, CURVES[:45] - 0.5]
    for estimator in (running(1e6), running(None, rho=1e9)):
        state = path.with_name(f"{estimator.rho}")
        with estimator.open(state) as months:
            for count, curves in enumerate(sets, 1):
                release = months.publish(curves)
                np.testing.assert_allclose(release.latest(GRID), curves.mean(axis=0), atol=2e-3)
                together = np.concatenate(sets[:count])
                np.testing.assert_allclose(release(GRID), together.mean(axis=0), atol=2e-3)
                assert (release.count, release.latest.count) == (len(together), len(curves))


def test_records_of_one_home_count_as_one(path):
    homes = np.repeat(np.arange(20), 3)
    with running(1e6).open(path) as months:
        release = months.publish(CURVES, groups=homes)
    averages = CURVES.reshape(20, 3, 12).mean(axis=1)
    np.testing.assert_allclose(release(GRID), averages.mean(axis=0), atol=2e-3)
    assert release.count == 20
    with (
        running(unit=None).open(path.with_name("2")) as months,
        pytest.raises(ParameterError, match="unit must be named where records have groups"),
    ):
        months.publish(CURVES, groups=homes)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> list[ReleasedRunningMean]:
    made = []
    for estimator in (running(), of_rho(most_months=2)):
        with estimator.open(tmp_path_factory.mktemp("state") / "state") as months:
            made += [months.publish(CURVES) for _ in range(2)]
    return made


def test_releases_keep_the_contract(released, tmp_path):
    for release in (*released, released[1].latest, released[3].latest):
        check_release(release)
        again = load(release.save(tmp_path / "release.json", overwrite=True))
        assert again.to_json() == release.to_json()
        np.testing.assert_array_equal(again(GRID), release(GRID))
        assert again.certificate.achieved == release.certificate.achieved
        for of in ("sample", "noise", "population"):
            band = release.band(0.95, of=of)
            assert np.all(band.lower <= release(band.points))


def test_a_file_that_promises_too_much_is_refused(released, tmp_path):
    for release, change in itertools.product(
        (released[0], released[3]), ({"most": 8}, {"column": [1] * 8}, {"steps": 4, "column": [1] * 4})
    ):
        file = tmp_path / "altered.json"
        written = json.loads(release.save(file, overwrite=True).read_text())
        for part in (written, written["latest"]):
            part.update(change)
        file.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            load(file)


def test_words_say_who_is_protected_and_what_is_public(released):
    told = released[3].describe()
    for words in (
        "It is for months 1 to 2 of 8, all paid for at once.",
        "What their state file tells of other months, or of this one again, costs nothing more.",
        "for one 2-month home, which is in at most 2 months; whoever is in more is protected less",
        "the number of 2-month homes of every month, and of months: 8",
    ):
        assert words in " ".join(told.split())
    assert "month 2 of 8" in repr(released[1].latest)
    # In fewer months than all: the name of the unit says in how many.
    assert "months 1 to 2 of 8\n" in f"{released[3]!r}\n"
    assert len(released[3].view().lines) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": 0}, "steps must be"),
        ({"steps": 1001}, "steps must be"),
        ({"most_months": 9}, "most_months must be from 1 to the number of months, 8"),
        ({"bounds": L2Ball(1.0)}, r"bounds must be \(lower, upper\) for a running mean"),
        ({"unit": PrivacyUnit(neighbours="add-remove")}, "neighbours must be 'replace-one'"),
        ({"reading": {"standardize": True}}, "reading must be"),
        ({"epsilon": 0}, "epsilon must be positive"),
    ],
)
def test_unusable_parameters_are_refused_free_of_charge(path, given, words):
    reading = given.pop("reading", None)
    made = running(**given, **(reading or {}))
    for call in (lambda: made.open(path), lambda: made.plan(60)):
        with pytest.raises(ParameterError, match=words):
            call()
    assert not path.exists()


def test_what_is_no_table_of_curves_is_refused(path):
    with running().open(path) as months, pytest.raises(ParameterError, match="be curves on one grid"):
        months.publish(LongCurves([1, 1, 2, 2], [0.0, 1.0, 0.0, 1.0], [0.1, 0.2, 0.3, 0.4]))


def test_a_month_on_another_grid_is_refused(path):
    with running(domain=Domain(GRID)).open(path) as months:
        months.publish(CURVES)
    with (
        running(domain=Domain(GRID + 0.5)).resume(path) as months,
        pytest.raises(
            ParameterError, match="X must be on the grid of the months before; found 12 other"
        ),
    ):
        months.publish(CURVES)
    with running(domain=None).resume(path) as months:
        assert months.publish(CURVES).months == (1, 2)


# --- the plan ---


def test_the_plan_is_what_is_published(path):
    plan = of_rho().plan(60)
    with of_rho().open(path, n=60) as months:
        assert months.plan.chosen == plan.chosen
        assert months.certificate.costs == tuple(plan.costs().values())
        # The first month may have another number of units: the noise stays as it was paid for.
        release = months.publish(CURVES[:50])
    assert release.row_law == plan.chosen.law
    with of_rho().open(path.with_name("2")) as months:
        months.publish(CURVES)
        assert months.plan.chosen == plan.chosen


def test_expected_deviations_are_those_of_the_releases_noise(path):
    for estimator in (running(), of_rho(), of_rho(most_months=3)):
        plan = estimator.plan(60)
        own, means = plan.deviations
        with estimator.open(path.with_name(f"{estimator.rho} {plan.most}"), n=60) as months:
            released = [months.publish(CURVES) for _ in range(4)]
        cells = np.array(plan.chosen.cells)
        for month, release in enumerate(released):
            for made, stated in ((release, means), (release.latest, own)):
                step = 2.0**-made.exponent / made.count
                deviation = np.sqrt(np.mean(made.noise.variances() / cells**2)) * step
                assert deviation == pytest.approx(stated[month], rel=1e-6)


def test_the_plan_says_errors_and_can_be_made_again():
    plan = of_rho().plan(200)
    assert plan.at(n=800).error < plan.error < plan.at(guarantee=ZeroConcentratedDP("0.05")).error
    assert plan.alike(8).error == plan.error < plan.alike(1).error
    assert plan.alike(8, running=False).error > plan.error
    assert "a mean curve a month" in str(plan)
    assert plan.band() > 0
    wide = running(bounds=ValueBounds(np.full(12, -3.0), GRID + 3)).plan(60)
    assert wide.widths(wide.chosen.cells)[0] < wide.widths(wide.chosen.cells)[-1]


# --- the verb ---


def test_the_verb_publishes_a_month_at_a_time_and_charges_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hours = [f"{hour:g}" for hour in GRID]
    for name, curves in (("may", CURVES), ("june", CURVES + 0.2)):
        rows = [",".join(hours), *(",".join(f"{value:.3f}" for value in row) for row in curves)]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments))

    create = ("--dataset", "loads", "--rho", "0.5", "--unit", "home-month")
    assert run("ledger", "create", "budget.ledger", *create).exit_code == 0
    given = (
        "--state", "loads.state", "--rho", "0.5", "--bounds", "-3", "3", "--steps", "6",
        "--unit", "home", "--most-months", "1", "--ledger", "budget.ledger", "--dataset", "loads",
    )  # fmt: skip
    assert run("month", "may.csv", "--month", "1", *given, "--out", "may.json").exit_code == 0
    # Without anything left in the ledger.
    done = run("month", "june.csv", "--month", "2", *given, "--out", "june.json")
    assert done.exit_code == 0
    assert "month 2 was paid for with the first one: nothing was charged for it" in done.output
    again = run("month", "may.csv", "--month", "2", *given, "--out", "again.json")
    assert again.exit_code == 0
    assert Path("again.json").read_bytes() == Path("june.json").read_bytes()
    assert load("june.json").months == (1, 2)
    late = run("month", "june.csv", "--month", "4", *given, "--out", "late.json")
    assert late.exit_code == 2
    assert "--month must be one that was published, or the next, 3; found 4" in late.output
    changed = run("month", "june.csv", "--month", "3", *given, "--steps", "7", "--out", "late.json")
    assert "must be those that the file was opened with" in changed.output
    # The state has what was typed for the first month; who types something else is refused.
    own = ("month", "june.csv", "--month", "3", "--state", "loads.state", "--out", "late.json")
    for other, found in (
        (("--rho", "0.4"), "found guarantee '0.4-zero"),
        (("--epsilon", "1"), "found guarantee '1-differential"),
        (("--steps", "64"), "found months 64 in the place of 6"),
        (("--bounds", "-3", "4"), r"found bound 'values clipped to [-3, 4]' in the place of"),
        (("--most-months", "6"), "found privacy_unit 'home' in the place of 'home-month'"),
        (("--missing", "complete"), "found reading"),
    ):
        assert found in run(*own, *other).output
    assert not Path("late.json").exists()
    assert run(*own, "--rho", "1/2", "--x-label", "hour in July").exit_code == 0
    late = load("late.json")
    assert late.months == (1, 3)
    # Names of axes are words alone: those that are typed are this month's.
    assert late.view().x_label == late.latest.view().x_label == "hour in July"
    # A state in another place goes on where that is said to be on purpose.
    os.rename(shutil.copy("loads.state", "moved.state"), "other.state")
    os.chmod("other.state", 0o600)
    fourth = ("month", "june.csv", "--month", "4", "--state", "other.state", "--out", "fourth.json")
    assert "the only one that will be resumed, pass --moved." in run(*fourth).output
    assert run(*fourth, "--moved").exit_code == 0
    fourth = load("fourth.json")
    assert fourth.months == (1, 4)
    assert fourth.about.get("domain") == load("may.json").about.get("domain") != "hour in July"


def test_of_a_state_nothing_but_options_of_the_first_month_is_taken(path, tmp_path):
    table, kept = tmp_path / "may.csv", {"epsilon": "1", "bounds": [-3.0, 3.0], "steps": 8}
    table.write_text("\n".join(",".join(map(str, row)) for row in [GRID, *CURVES]))
    plain = running(unit=None, most_months=None, domain=None)
    more = {"out": str(tmp_path / "other.json"), "file": "other.csv", "month": 2, "unheard": 1}
    Months.open(plain, path, plain.plan(60, GRID), kept | more).suspend()
    out = tmp_path / "may.json"
    asked = ["month", str(table), "--month", "1", "--state", str(path), "--out", str(out)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert load(out).months == (1, 1)
    assert not (tmp_path / "other.json").exists()


def test_a_later_month_has_the_column_of_units_of_the_first(tmp_path):
    """It broke: by another column the rows of one home were several homes, and moved a month so."""
    table, out = tmp_path / "may.csv", tmp_path / "out.json"
    rows = [[row, row // 2, *CURVES[row]] for row in range(len(CURVES))]
    header = ["visit", "home", *(f"t{place}" for place in range(len(GRID)))]
    table.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]))

    def run(month: int, *more: str) -> Any:
        asked = ["month", str(table), "--month", str(month), "--state", str(tmp_path / "s"), *more]
        return CliRunner().invoke(app, [*asked, "--out", str(out), "--overwrite"])

    first = ("--rho", "0.5", "--bounds", "-3", "3", "--steps", "3", "--unit", "home", "--columns", "t*")
    assert run(1, *first, "--most-months", "3", "--groups", "home").exit_code == 0
    refused = run(2, "--groups", "visit")
    assert refused.exit_code == 2
    assert "found groups 'visit' in the place of 'home'" in refused.output
    assert load(out).months == (1, 1)
    assert run(2).exit_code == run(3, "--groups", "home").exit_code == 0
    assert load(out).divisor == 3 * ((len(CURVES) + 1) // 2)


def test_the_first_month_must_say_its_bounds_before_its_file_is_read(tmp_path):
    given = ("--month", "1", "--state", f"{tmp_path}/s", "--rho", "1", "--out", f"{tmp_path}/m.json")
    refused = CliRunner().invoke(app, ["month", "no-such-file.csv", *given])
    assert refused.exit_code == 2
    assert "--bounds must be given; found none. Pass --bounds lower upper" in refused.output
    assert not list(tmp_path.iterdir())


def test_whoever_names_a_unit_says_in_how_many_months_it_may_be(path):
    with pytest.raises(
        ParameterError, match=r"most_months must be given where a unit is named.*1: everyone"
    ):
        running(most_months=None).plan(50)
    units = [running(most_months=most).plan(50).unit for most in (1, 2, 8)]
    assert units == ["home-month", "2-month home", "home"]
    assert running(unit=None, most_months=None).plan(50).unit == "record"
    # A home is another unit than its part in one month: their losses are not added up.
    home = PrivateMean(1.0, bounds=(-3, 3), unit="home").fit(CURVES).release_
    with running().open(path) as months:
        part = months.publish(CURVES)
    with pytest.raises(DpfdaError, match="must protect the same privacy unit"):
        compose([home, part])
    with running(most_months=8).open(path.with_name("all")) as months:
        assert compose([home, months.publish(CURVES)]) == PureDP(2)


@pytest.mark.parametrize(
    "change",
    [
        lambda written: written["noise"].update(weights=[1]),
        lambda written: written.update(months=[2, 2]),
        lambda written: written.update(months=[1, 1]),
        lambda written: written.update(steps=10**9),
    ],
)
def test_a_file_with_the_noise_of_other_months_is_refused(released, tmp_path, change):
    file = tmp_path / "altered.json"
    written = json.loads(released[1].save(file).read_text())
    assert load(file).months == (1, 2)
    written.pop("latest")
    change(written)
    file.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(file)


def test_a_plan_is_in_force_once_it_is_on_the_disk(path, monkeypatch):
    """Interrupted between the two, the next month makes a plan of its own, and writes it."""
    append = Journal.append

    def interrupted(journal, records):
        if "frame" in records[0]:
            raise KeyboardInterrupt
        append(journal, records)

    with running().open(path) as months:
        monkeypatch.setattr(Journal, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            months.publish(CURVES)
        assert months.plan is None
        monkeypatch.setattr(Journal, "append", append)
        told = months.publish(CURVES)
    with running().resume(path) as again:
        assert again.release(1).noisy_sum == told.noisy_sum
        assert again.certificate == told.certificate


def test_months_out_of_place_are_damage(path):
    with running().open(path) as months:
        months.publish(CURVES)
    journal, records = Journal.open(path)
    row = Row.from_json(records[-1])
    assert str(row.noisy[0]) not in repr(row)
    journal.append([row.to_json(3)])
    journal.close()
    with pytest.raises(StorageError, match="is damaged"):
        running().resume(path)


def test_a_month_within_a_month_is_refused(path):
    with running().open(path) as months:

        class Calling:
            shape, ndim, dtype = CURVES.shape, 2, CURVES.dtype

            def __array__(self, *_, **__):
                if months.published == 0:
                    months.publish(CURVES)
                return CURVES

        with pytest.raises(SessionError, match="was published while another was read"):
            months.publish(Calling())
        assert months.published == 1


def test_the_verb_opens_a_state_for_the_first_month_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(str, row)) for row in [GRID, *CURVES]]
    Path("may.csv").write_text("\n".join(rows))
    asked = ["month", "may.csv", "--month", "2", "--state", "typo.state", "-e", "1", "-b", "-3", "3"]
    done = CliRunner().invoke(app, [*asked, "--steps", "8", "--out", "may.json"])
    assert done.exit_code == 2
    assert "--state must name the state of the 1 month before" in " ".join(done.output.split())
    assert not Path("typo.state").exists()
