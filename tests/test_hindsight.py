"""Laws that follow from a released count: what is charged before it, and what holds of the law drawn."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivacyUnit, PrivateCovariance, PrivateMean, load
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError
from dpfda.mechanisms.elliptical import StudentT
from dpfda.mechanisms.knorm import KNorm
from dpfda.privacy.composition import (
    ApproximateLoss,
    BlockLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    account,
    compose,
)
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.testing import check_mechanism

CURVES = np.random.default_rng(1).uniform(-1, 1, (300, 20)).cumsum(axis=1) / 20
MILLIONTH = Fraction(1, 10**6)
UNIT = PrivacyUnit("person", "add-remove")


def mean_of(delta=0, **given):
    """A mean whose number of units is private, in a ball: its law follows from the count."""
    return PrivateMean(1.0, delta, bounds=L2Ball(1.0), unit=UNIT, **given).fit(CURVES).release_


def test_ten_means_add_up_by_the_laws_that_were_drawn():
    means = [mean_of(MILLIONTH) for _ in range(10)]
    found = account(means)
    # Ten counts at a tenth, and ten blocks or normal laws, whose profiles compose exactly.
    drawn = [mean.certificate.costs[1].drawn for mean in means]
    assert all(isinstance(cost.loss, BlockLoss | GaussianLoss) for cost in drawn)
    assert found.total.epsilon == 1 + compose(drawn, delta="1e-5").epsilon
    assert found.total.delta == Fraction(1, 10**5)
    assert found.total.epsilon < 5
    assert found.foreseen == ApproximateDP(10, "1e-5")
    assert "in hindsight" in str(found)
    assert "whatever was looked at" in str(found)


def test_a_ledger_is_charged_what_is_known_before_the_count():
    ledger = MemoryLedger().create("scans", ApproximateDP(5, "1e-5"), "add-remove", "person")
    release = mean_of(MILLIONTH, ledger=ledger.of("scans"))
    assert ledger.spent("scans")["epsilon"] == 1
    count, function = release.certificate.costs
    assert count == Cost(PureDP("1/10"), LaplaceLoss("1/10"))
    assert count.drawn is None
    assert function.loss == ApproximateLoss("9/10", "1e-6")
    assert function.drawn is not None


def test_pure_symmetric_laws_are_known_before_the_count():
    function = mean_of().certificate.costs[1]
    assert function.loss == LaplaceLoss("9/10")
    assert isinstance(function.drawn.loss, BlockLoss)
    # One loss for all that may be drawn: a pure total needs no hindsight.
    assert account([mean_of(), mean_of()]).foreseen is None


def test_totals_in_rho_and_totals_of_budgets_know_nothing_of_what_was_drawn():
    costs = mean_of().certificate.costs
    assert compose([mean_of()], kind="zero-concentrated").rho == sum(cost.rho for cost in costs)


def losses_of(generator, shift, count):
    """Losses of a standard Laplace variable that is shifted, where it is drawn without the shift."""
    points = generator.laplace(size=count)
    return np.abs(points - shift) - np.abs(points), points


@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_in_hindsight_the_loss_exceeds_the_total_no_more_than_delta_allows(delta):
    # Each law is chosen by its count, and is large where the loss of the count is.
    # By simulation, with five standard errors; without what the counts cost, the same test fails.
    generator, times, draws = np.random.default_rng(2), 3, 400_000
    small, large = Cost(PureDP("1/4"), LaplaceLoss("1/4")), Cost(PureDP(2), LaplaceLoss(2))
    total, chosen = np.zeros(draws), np.zeros(draws, dtype=int)
    for _ in range(times):
        loss, counted = losses_of(generator, 1.0, draws)
        grows = counted < 0
        chosen += grows
        total += loss + losses_of(generator, np.where(grows, 2.0, 0.25), draws)[0]
    stated, without = np.zeros(draws), np.zeros(draws)
    for many in range(times + 1):
        laws = [large] * many + [small] * (times - many)
        costs = [Cost(PureDP(1), LaplaceLoss(1))] * times
        costs += [Cost(PureDP(2), LaplaceLoss(2)).drawn_as(law) for law in laws]
        stated[chosen == many] = float(compose(costs, "approximate", delta).epsilon)
        without[chosen == many] = float(compose(laws, "approximate", delta).epsilon)

    def exceeded(epsilons):
        gains = np.maximum(-np.expm1(np.minimum(epsilons - total, 0.0)), 0.0)
        return gains.mean(), 5 * gains.std() / math.sqrt(draws)

    found, error = exceeded(stated)
    assert found <= delta + error
    found, error = exceeded(without)
    assert found > delta + error


def test_what_is_added_up_how_does_not_depend_on_what_was_released():
    # One count and one function: a block where the loss of the count is large, elsewhere the law as
    # charged. Where that counted as a fixed cost the loss exceeded the total by 1.2 delta.
    delta, share = 0.005529, Fraction("0.02273")
    count = Cost(PureDP(share), LaplaceLoss(share))
    charged = Cost(PureDP("0.6071"), LaplaceLoss("0.6071"))
    block = Cost(PureDP("0.6071"), BlockLoss(14, "0.6071"))
    laws = (charged, block)
    found = [account([count, charged.drawn_as(law)], "approximate", delta) for law in laws]
    assert all(each.foreseen is not None for each in found)
    # Where the count's noise lies and what it loses there, in units of its scale.
    places = np.linspace(-12, 12, 97)
    weights = np.exp(-np.abs(places)) / 2 * (places[1] - places[0])
    losses = np.abs(places - float(share)) - np.abs(places)
    beyond = np.array(
        [
            [float(law.loss.delta(each.total.epsilon - Fraction(loss))) for loss in losses.tolist()]
            for law, each in zip(laws, found, strict=True)
        ]
    )
    # The worst choice of a law by the count; the sum over places is within a hundredth of the integral.
    assert beyond.max(axis=0) @ weights <= 1.01 * delta


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 1.0])
def test_a_stage_that_awaits_a_count_is_marked_whatever_the_count_is(epsilon):
    # From few to many units the law goes from Laplace, as it was charged, to blocks of more dimensions.
    mean = PrivateMean(
        epsilon, bounds=L2Ball(1.0), unit=UNIT, mechanism="knorm", basis=Matern(0.3, nu=1.5)
    )
    laws = set()
    for units in (2, 5, 20, 100, 1000):
        function = mean.fit(np.zeros((units, 20))).release_.certificate.costs[1]
        assert function.drawn is not None
        laws.add(function.drawn.loss.kind)
    assert "block" in laws


def test_a_part_without_the_count_is_as_it_was_charged():
    certificate = mean_of().certificate
    assert certificate.part("function").costs[0].drawn is None
    assert certificate.part("count", "function").costs[1].drawn is not None
    covariance = (
        PrivateCovariance(2.0, bounds=L2Ball(1.0), unit=UNIT, center="private").fit(CURVES).release_
    )
    # The mean is divided by the count, which is among its stages and costs.
    assert covariance.mean.certificate.stages == ("count", "mean")
    assert compose([covariance.mean, covariance]) == compose([covariance])


def test_only_pure_symmetric_laws_have_a_loss_in_common():
    laws = [BlockLoss(5, 1), LaplaceLoss(1)]
    assert Cost.awaited(PureDP(1), laws).loss == LaplaceLoss(1)
    assert Cost.awaited(PureDP(1), [*laws, None]).loss == PureLoss(1)
    assert Cost.awaited(PureDP(1), [PureLoss(1)]).loss == PureLoss(1)
    assert Cost.awaited(ApproximateDP(1, "1e-6"), laws).loss == ApproximateLoss(1, "1e-6")
    assert Cost.awaited(ZeroConcentratedDP(1), laws) == Cost(ZeroConcentratedDP(1))


@pytest.mark.parametrize(
    ("charged", "law"),
    [
        (Cost(PureDP(1), LaplaceLoss(1)), Cost(PureDP(1))),
        (Cost(PureDP(1), LaplaceLoss(1)), Cost(PureDP(1), LaplaceLoss("1.001"))),
        (Cost(PureDP(1), BlockLoss(5, 1)), Cost(PureDP(1), BlockLoss(4, 1))),
        (Cost(PureDP(1)), Cost(PureDP("1.001"), LaplaceLoss(1))),
        (Cost(ApproximateDP(1, "1e-6")), Cost(ApproximateDP(1, "2e-6"), GaussianLoss("0.01"))),
    ],
)
def test_a_law_that_costs_more_than_was_charged_is_refused(charged, law):
    assert not charged.covers(law)
    with pytest.raises(ParameterError, match="drawn must be covered by"):
        charged.drawn_as(law)


def test_the_law_is_kept_in_the_file_and_is_that_of_its_noise(tmp_path):
    release = mean_of(MILLIONTH)
    path = release.save(tmp_path / "mean.json")
    again = load(path)
    assert again.certificate.costs[1].drawn == release.certificate.costs[1].drawn
    assert compose([again, release], delta="1e-5") == compose([release], delta="1e-5")
    written = json.loads(path.read_text())
    written["costs"][1]["drawn"]["loss"] = {"kind": "block", "dimension": 10_000, "epsilon": "2"}
    path.write_text(json.dumps(written))
    with pytest.raises(Exception, match="is damaged"):
        load(path)


def test_under_replace_one_neighbours_both_double():
    release = mean_of(MILLIONTH)
    other = PrivateMean(1.0, MILLIONTH, bounds=L2Ball(1.0), unit="person").fit(CURVES).release_
    found = account([release, other])
    assert found.neighbours is Neighbours.REPLACE_ONE
    doubled = found.costs[1]
    assert doubled.drawn.loss == release.certificate.costs[1].drawn.loss.for_group(2)
    assert doubled.guarantee.epsilon == Fraction(9, 5)


class Fickle:
    """A mechanism that offers a block for one unit, and for more a law without a known loss."""

    name = "fickle"

    def design(self, problem):
        return (KNorm() if problem.size == 1 else StudentT()).design(problem)


def test_a_mechanism_that_would_draw_what_the_charge_does_not_cover_is_refused_before_it():
    ledger = MemoryLedger().create("scans", PureDP(5), "add-remove", "person")
    assert check_mechanism(Fickle(), L2Ball(1.0), PureDP(1)) is not None
    with pytest.raises(ParameterError, match="drawn must be covered by"):
        mean_of(mechanism=Fickle(), ledger=ledger.of("scans"))
    assert ledger.spent("scans")["epsilon"] == 0


def test_a_covariance_says_what_was_drawn():
    estimator = PrivateCovariance(2.0, bounds=(-2, 2), unit=UNIT)
    costs = dict(zip(*_stages(estimator.fit(CURVES).release_), strict=True))
    assert costs["count"] == Cost(
        costs["count"].guarantee, LaplaceLoss(costs["count"].guarantee.epsilon)
    )
    for stage in costs.values():
        assert stage.loss == LaplaceLoss(stage.guarantee.epsilon)


def _stages(release):
    return release.certificate.stages, release.certificate.costs


def test_a_part_and_a_derivative_keep_what_was_drawn():
    release = mean_of(MILLIONTH)
    drawn = release.certificate.costs[1].drawn
    assert release.derivative().certificate.costs[1].drawn == drawn
    # Copies that differ in it alone are one charge, at what the first says.
    bare = replace(
        release.certificate, costs=tuple(Cost(c.guarantee, c.loss) for c in release.certificate.costs)
    )
    assert len(account([bare, release.certificate]).costs) == 2
