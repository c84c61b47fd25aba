"""A tenth is a tenth, however it is written, in every place that takes a privacy parameter."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import dpfda
from dpfda import PrivateKernelClassifier, PrivateMean, release_function
from dpfda.errors import ParameterError
from dpfda.front.agreed import estimator_from, written_parameters
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, guarantee_for
from dpfda.privacy.ledger import MemoryLedger
from dpfda.spine.estimator import Estimator
from dpfda.tuning import private_selection
from dpfda.tuning.public import plug_in

TENTHS = [
    0.1, Fraction(1, 10), Decimal("0.1"), "0.1", "1/10", "1e-1", np.float64(0.1), np.float32(0.1),
    np.array(0.1), np.str_("0.1"),
]  # fmt: skip
# More digits than a float has: text, Decimal and Fraction are read to the last of them.
LONG = "0.1000000000000000000000001"
UNREADABLE = ["abc", "0,1", "", "nan", "1/0", b"0.1", True, math.nan, [0.1], 1j]
TENTH = Fraction(1, 10)
CURVES = np.sin(np.linspace(0, 3, 9)) * np.linspace(0.1, 0.9, 30)[:, None]
ESTIMATORS = [
    kind for name in dpfda.__all__
    if isinstance(kind := getattr(dpfda, name), type) and issubclass(kind, Estimator)
]  # fmt: skip


def selected(epsilon, ledger=None):
    def fit(bounds, share):
        return PrivateMean(share, bounds=bounds).fit(CURVES).release_

    return private_selection(
        [(0, 1), (0, 2)], fit, lambda release: 0.0, epsilon, expected_runs=2, ledger=ledger
    )


def smooth(epsilon, ledger=None):
    return release_function(
        lambda x: 0.5 + 0 * x[:, 0],
        1 / 500,
        epsilon=epsilon,
        degree=3,
        domain_range=(0, 1),
        ledger=ledger,
    )


@pytest.mark.parametrize("written", TENTHS, ids=repr)
def test_a_tenth_is_a_tenth_in_every_place(written):
    for kind in ESTIMATORS:
        assert kind(written).asked() == PureDP(TENTH), kind
        if "rho" in kind().get_params():
            assert kind(rho=written, delta="0").asked() == ZeroConcentratedDP(TENTH), kind
    assert PrivateMean(1, written).asked() == ApproximateDP(1, TENTH)
    assert guarantee_for(written, written) == ApproximateDP(TENTH, TENTH)
    assert compose([ZeroConcentratedDP(written)], "approximate", written).delta == TENTH
    assert compose([PureDP(written)] * 10) == PureDP(1)
    plan = PrivateMean(1, bounds=(0, 1)).plan(n=100, columns=9)
    assert plan.at(epsilon=written).guarantee == PureDP(TENTH)
    assert plug_in(50, written, decay=4.0) == plug_in(50, 0.1, decay=4.0)
    assert smooth(written).guarantee == PureDP(TENTH)


@pytest.mark.parametrize("written", TENTHS, ids=repr)
def test_what_custodians_agree_on_is_the_number_that_is_read(written):
    agreed = written_parameters(PrivateMean(written, written, bounds=(0, 1)))
    assert estimator_from(PrivateMean, agreed).asked() == ApproximateDP(TENTH, TENTH)


@pytest.mark.parametrize("given", [{"epsilon": LONG}, {"rho": Decimal(LONG)}])
def test_every_digit_of_a_decimal_counts(given):
    ledger = MemoryLedger().create("scans", PrivateMean(**given).asked())
    release = PrivateMean(**given, bounds=(0, 1), ledger=ledger.of("scans")).fit(CURVES).release_
    assert getattr(release.guarantee, *given) == Fraction(LONG)
    assert set(ledger.remaining("scans").values) == {0}


@pytest.mark.parametrize("written", UNREADABLE, ids=repr)
@pytest.mark.parametrize("name", ["epsilon", "delta", "rho"])
def test_what_cannot_be_read_is_refused_before_any_charge(name, written):
    ledger = MemoryLedger().create("scans", PureDP(1))
    account = ledger.of("scans")
    with pytest.raises(ParameterError, match=f"{name} must"):
        PrivateMean(**{"epsilon": 1 if name == "delta" else None, name: written}, bounds=(0, 1),
                    ledger=account).fit(CURVES)  # fmt: skip
    if name == "epsilon":
        for publish in (smooth, selected):
            with pytest.raises(ParameterError, match="epsilon must"):
                publish(written, account)
        with pytest.raises(ParameterError, match="epsilon must"):
            ledger.reserve("scans", PrivateMean(written).asked(), times=3)
    assert not ledger.releases()


def test_a_selection_is_charged_the_tenth_that_text_says():
    ledger = MemoryLedger().create("scans", PureDP(TENTH))
    assert selected("0.1", ledger.of("scans")).certificate.guarantee == PureDP(TENTH)
    assert ledger.remaining("scans")["epsilon"] == 0


@pytest.mark.filterwarnings("ignore::dpfda.errors.UnreadLabelsWarning")
@pytest.mark.parametrize("estimator", [
    PrivateMean("1/2", "1e-6", bounds=(-10, 10), domain=(0, 1)),
    PrivateKernelClassifier("1000", Decimal("1e-6"), bounds=(-10, 10)),
])  # fmt: skip
def test_text_is_kept_as_it_was_given_and_read_in_fit(estimator):
    same = clone(estimator)
    assert same.get_params()["epsilon"] is estimator.epsilon
    assert same.set_params(epsilon="1/4").asked().epsilon == Fraction(1, 4)
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    plain = clone(estimator).set_params(epsilon=float(estimator.asked().epsilon), delta=1e-6)
    usual = check_estimator(plain, on_fail=None, on_skip=None)
    failed, known = (
        {r["check_name"] for r in done if r["status"] == "failed"} for done in (results, usual)
    )
    assert failed <= known
