"""The messages that the page on errors lists are those that the program says."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpfda import PrivacyUnit, PrivateDensity, PrivateKernelClassifier, PrivateMean, PrivateSurvival
from dpfda.errors import DpfdaError
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger

X = np.full((20, 10), 0.4)
HOLES = np.where(np.arange(200).reshape(20, 10) == 32, np.nan, X)
SPENT = MemoryLedger().create("scans", PureDP(1))
PRIVATE = PrivacyUnit(neighbours="add-remove")


def mean(epsilon=1.0, bounds=(0, 1), **more):
    return PrivateMean(epsilon, bounds=bounds, **more)


REFUSED = [
    lambda: mean(bounds=None).fit(X),
    lambda: mean(None).fit(X),
    lambda: mean().fit(HOLES),
    lambda: mean(bounds=(1, 0)).fit(X),
    lambda: mean().fit(X, groups=[1, 2]),
    lambda: mean(mechanism="gaussian").fit(X),
    lambda: mean(grid_points=np.arange(20)).fit(X),
    lambda: mean(grid_points=np.arange(7)).fit(X),
    lambda: PrivateDensity(1.0).fit([1.0, 2.0, 3.0]),
    lambda: PrivateDensity(1.0, domain=(0, 1), unit=PRIVATE).fit([0.1, 0.2, 0.3]),
    lambda: PrivateKernelClassifier(1.0, bounds=(0, 1)).fit(X[:, :2], ["a", "b"] * 10),
    lambda: mean(2.0, ledger=SPENT.of("scans")).fit(X),
    lambda: PrivateSurvival(1.0, domain=(0, 9)).fit([1, 2, 3], [1, 2, 1]),
    lambda: PrivateKernelClassifier(1.0, bounds=(0, 1), classes=(0, 1)).fit(X[:, :2], [1, 2] * 10),
    lambda: mean().fit(X).release_(2.0),
    lambda: mean().release_,
]


def listed():
    page = (Path(__file__).parent.parent / "docs" / "errors.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([^`]+)` \|", page, flags=re.M)


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_a_listed_message_is_the_programs(place):
    with pytest.raises((DpfdaError, NotFittedError)) as caught:
        REFUSED[place]()
    pattern = ".*".join(map(re.escape, listed()[place].split("...")))
    assert re.match(pattern, str(caught.value)), str(caught.value)
