"""The contract of summaries: the package keeps it, one from elsewhere runs it, broken ones fail."""

import numpy as np
import pytest

from dpfda import (
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateSurvival,
    PrivateVectorMean,
    Session,
)
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError
from dpfda.privacy.guarantees import ApproximateDP, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.spine.pooled import one_sum
from dpfda.testing import check_summary

X = np.random.default_rng(3).uniform(size=(20, 9))
LABELS = ["a", "b"] * 10


class PrivateLevel(PrivateMean):
    """The mean of one number a record: a summary in one class, of another package."""

    def fit(self, X, y=None, groups=None):
        return super().fit(np.repeat(np.reshape(X, (-1, 1)), 5, axis=1), y, groups)


class PrivateExceedance(PrivateMean):
    """How often a curve is above one half: what it makes of a record is heard by `fit` alone."""

    def fit(self, X, y=None, groups=None):
        return super().fit((np.asarray(X) > 0.5).astype(float), y, groups)


class InBlocksToo(PrivateExceedance):
    """The same, with blocks of its own."""

    def partial_fit(self, X, y=None):
        return super(PrivateExceedance, self).partial_fit((np.asarray(X) > 0.5).astype(float), y)


def mean_kept_in(ledger, kind=PrivateExceedance, delta=0):
    return kind(1.0, delta, bounds=(0, 1), mechanism="gaussian" if delta else "auto", ledger=ledger)


@pytest.mark.parametrize("road", ["partial_fit", "fit_blocks", "open_session", "pooled"])
def test_what_a_subclass_makes_of_records_in_fit_is_not_left_out_elsewhere(road, tmp_path):
    ledger = MemoryLedger().create("data", PureDP(5))
    mean = mean_kept_in(ledger.of("data"))
    given = {
        "partial_fit": (X,),
        "fit_blocks": (iter([X, X]),),
        "open_session": (X, tmp_path / "mean.session"),
        "pooled": (40, 9),
    }[road]
    with pytest.raises(ParameterError, match="must go through fit, which PrivateExceedance has put"):
        getattr(mean, road)(*given)
    assert ledger.spent("data")["epsilon"] == 0
    mean.fit(X)
    assert ledger.spent("data")["epsilon"] == 1


def test_a_session_that_is_opened_by_its_class_hears_a_subclass_too(tmp_path):
    ledger = MemoryLedger().create("data", ApproximateDP(5, 1e-3))
    mean = mean_kept_in(ledger.of("data"), delta=1e-6)
    with pytest.raises(ParameterError, match="must go through fit, which PrivateExceedance has put"):
        Session.open(mean, X, tmp_path / "mean.session")
    assert ledger.spent("data")["epsilon"] == 0
    assert not (tmp_path / "mean.session").exists()


class Mirrored(PrivateDensity):
    """The density of what is left to one."""

    def fit(self, X, y=None, groups=None):
        return super().fit(1 - np.asarray(X), y, groups)


@pytest.mark.parametrize("road", ["pooled", "pooled_on"])
@pytest.mark.parametrize("estimator", [mean_kept_in(None), Mirrored(1.0, domain=(0, 1))])
def test_custodians_and_clusters_refuse_a_fit_that_they_would_not_hear(estimator, road):
    with pytest.raises(ParameterError, match=f"{road} must go through fit, which"):
        one_sum(estimator, road)
    assert one_sum(PrivateDensity(1.0, domain=(0, 1)), road)


def test_a_subclass_with_a_road_of_its_own_is_let_through():
    mean = mean_kept_in(None, InBlocksToo)
    many = np.tile(X, (400, 1))
    values = mean.fit_blocks(iter([many, many])).release_(mean.release_.grid_points)
    np.testing.assert_allclose(values, (X > 0.5).mean(axis=0), atol=0.05)
    with pytest.raises(ParameterError, match="pooled must go through fit"):
        mean.pooled(40, 9)


class Centred(PrivateMean):
    """What a row adds depends on the mean of all."""

    def fit(self, X, y=None, groups=None):
        return super().fit(0.3 + (X - X.mean(axis=0)) / 1e6, y, groups)


class Loud(PrivateMean):
    """Adds every record twice, and noise for one."""

    def prepare(self, X, groups=None):
        made = super().prepare(X, groups)
        made.total.merge(super().prepare(X, groups).total)
        return made


class Forgetful(PrivateMean):
    """Charges nothing."""

    def fit(self, X, y=None, groups=None):
        ledger, self.ledger = self.ledger, None
        super().fit(X, y, groups)
        self.ledger = ledger
        return self


class Careless(PrivateMean):
    """Draws noise and charges afterwards."""

    def fit(self, X, y=None, groups=None):
        ledger, self.ledger = self.ledger, None
        super().fit(X, y, groups)
        self.ledger = ledger
        return super().fit(X, y, groups)


class Thirsty(PrivateMean):
    """Spends more than it was asked for."""

    def asked(self):
        return PureDP(super().asked().epsilon)

    def fit(self, X, y=None, groups=None):
        self.release_ = PrivateMean(2 * self.epsilon, bounds=self.bounds).fit(X).release_
        return self


class Halved(PrivateMean):
    """Adds up something else in blocks than at once."""

    def fit_blocks(self, blocks, *args, **kwargs):
        return super().fit_blocks((block / 2 for block in blocks), *args, **kwargs)


class Twice(PrivateMean):
    """Publishes twice in blocks, and once at once."""

    def fit_blocks(self, blocks, *args, **kwargs):
        kept = list(blocks)
        super().fit_blocks(iter(kept), *args, **kwargs)
        return super().fit_blocks(iter(kept), *args, **kwargs)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (PrivateMean(1.0, bounds=(0, 1)), (X,)),
        (PrivateMean(1.0, delta=1e-5, bounds=L2Ball(1.0)), (X,)),
        (PrivateMean(rho=0.1, epsilon=None, bounds=(0, 1)), (X,)),
        (PrivateMean(1.0, bounds=(0, 1), neighbours="add-remove"), (X,)),
        # Of a hundred curves the noisy count decides between two sets of numbers, about evenly.
        (PrivateMean(1.0, bounds=(0, 1), neighbours="add-remove"), (np.tile(X, (5, 1)),)),
        (PrivateVectorMean(1.0, bounds=(0, 1)), (np.stack([X, 1 - X], axis=2),)),
        (PrivateComparison(1.0, bounds=(0, 1), levels=("a", "b")), (X, LABELS)),
        (PrivateDensity(1.0, domain=(0, 1)), (X[:, 0],)),
        (PrivateCovariance(1.0, bounds=(0, 1)), (X,)),
        (PrivateSurvival(1.0, domain=(0, 1)), (X[:, 0], [0, 1] * 10)),
        (PrivateFunctionalRegression(1.0, bounds=(0, 1), covariates={"z": (0, 1)}), (X, X[:, :1])),
        (PrivateLevel(1.0, bounds=(0, 1)), (X[:, 0],)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_summary_keeps_the_contract(estimator, data):
    check_summary(estimator, *data)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Centred, "depends on the other rows"),
        (Loud, "further than the noise allows"),
        (Forgetful, "before the ledger is charged"),
        (Careless, "before the ledger is charged"),
        (Thirsty, "before the ledger is charged"),
        (Halved, "in_blocks leads to another sum than fit"),
        (Twice, "in_blocks leads to another sum than fit"),
    ],
)
def test_a_summary_that_breaks_it_is_found_out(kind, words):
    with pytest.raises(AssertionError, match=words):
        check_summary(kind(1.0, bounds=(0, 1)), X)


def test_a_summary_with_a_ledger_is_refused():
    ledger = MemoryLedger().create("data", PureDP(1)).of("data")
    with pytest.raises(ParameterError, match="without a ledger"):
        check_summary(PrivateMean(1.0, bounds=(0, 1), ledger=ledger), X)
