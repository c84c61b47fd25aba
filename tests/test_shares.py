"""A table of shares: what it charges, whom it charges first, and what its noise is."""

import numpy as np
import pytest
from scipy import stats

from dpfda import Ledger
from dpfda.errors import BudgetError
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import Neighbours, PureDP, guarantee_for
from dpfda.privacy.ledger.named import Paying
from dpfda.publication.tables import ShareTable
from dpfda.releases.shares import NoisyShares

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE


def table(cells: int = 6, epsilon: str = "1", neighbours: Neighbours = REPLACE) -> ShareTable:
    size = 40 if neighbours is REPLACE else None
    return ShareTable(cells, PureDP(epsilon), neighbours, "person", size, tuning={"name": "trial"})


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_noise_and_charge_are_those_of_one_unit_spread_over_all_cells(neighbours: Neighbours) -> None:
    shares, certificate = table(neighbours=neighbours).publish(IntegerSum.of([UNIT] * 6))
    width = 2 * UNIT if neighbours is REPLACE else UNIT
    assert set(shares.noise.scales) == {width}  # type: ignore[attr-defined]
    assert certificate.guarantee == certificate.achieved == PureDP(1)
    assert (certificate.neighbours, certificate.unit) == (neighbours, "person")
    assert certificate.mechanism["name"] == "trial"
    assert shares.deviation == pytest.approx(2**0.5 * width / UNIT)


def test_the_density_ratio_of_the_noise_reaches_epsilon_and_no_more() -> None:
    law = table(4, "1/2").law
    at = np.random.default_rng(0).normal(scale=6 * UNIT, size=(4000, 4))
    # One person moves as a whole from the first cell to the last: the farthest that neighbours are.
    moved = law.log_density(at) - law.log_density(at + UNIT * np.array([-1.0, 0, 0, 1]))  # type: ignore[attr-defined]
    assert moved.max() == pytest.approx(0.5, rel=1e-6)
    # A person who is spread over cells moves no farther.
    split = law.log_density(at) - law.log_density(at + UNIT * np.array([-0.5, -0.5, 0.5, 0.5]))  # type: ignore[attr-defined]
    assert split.max() == pytest.approx(0.5, rel=1e-6)


def test_what_the_ledger_refuses_draws_nothing(tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.create("visits", PureDP("3/2"), unit="person")
    table().publish(IntegerSum.of([0] * 6), Paying(ledger, "visits"))
    with pytest.raises(BudgetError):
        table().publish(IntegerSum.of([0] * 6), Paying(ledger, "visits"))


def test_gaussian_noise_where_it_is_less() -> None:
    made = ShareTable(9, guarantee_for("1/100", "1/5"), REPLACE, "person", 40)
    assert made.law.law == "gaussian"
    assert made.calibrated.charged == made.guarantee
    assert table().law.law != "gaussian"


def test_shares_are_read_back_from_their_file_as_they_were() -> None:
    shares, _ = table(neighbours=ADD).publish(IntegerSum.of([50 * UNIT, UNIT // 2, 0, 0, 0, 0]))
    again = NoisyShares.from_json(shares.to_json())
    assert (again.noisy, again.noise, again.public_size) == (shares.noisy, shares.noise, None)
    assert again.size == max(1.0, shares.counts.sum())
    errors = shares.errors(np.random.default_rng(1), 4000)
    assert errors.std() == pytest.approx(shares.deviation, rel=0.05)


@pytest.mark.parametrize(("neighbours", "distance"), [(REPLACE, 2**0.5), (ADD, 1.0)])
def test_gaussian_noise_is_as_small_as_the_distance_of_two_units_allows(
    neighbours: Neighbours, distance: float
) -> None:
    made = ShareTable(9, guarantee_for("1/2", "1/1000"), neighbours, "person", 40, "gaussian")

    def failure(deviation: float) -> float:
        # Balle & Wang (2018), Theorem 8.
        mu = distance / deviation
        ends = stats.norm.cdf([mu / 2 - 0.5 / mu, -mu / 2 - 0.5 / mu])
        return float(ends[0] - np.exp(0.5) * ends[1])

    assert failure(made.deviation) <= 1e-3
    # Neither of two scales wrong by root two would pass, nor one that is a thousandth larger.
    assert failure(made.deviation / 1.001) > 1e-3
    assert failure(made.deviation / 2**0.5) > 1e-3
