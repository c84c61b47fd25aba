"""What a release says about itself in words: every number in them by a second way."""

import dataclasses
import math
import re

import numpy as np
import pytest

from dpfda import PrivateMean
from dpfda.bounds import L1Ball, L2Ball, ValueBounds
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpfda.privacy.words import cautions, number
from sample_releases import certificate_of

pytestmark = pytest.mark.usefixtures("few_draws")

POINTS = 24
SIZE = 347


def curves(size=SIZE):
    return np.random.default_rng(5).uniform(0.2, 0.9, (size, 1)) + 0.1 * np.sin(np.arange(POINTS))


def released(groups=None, **settings):
    settings = {"epsilon": 1.0, "bounds": (0.0, 1.2)} | settings
    return PrivateMean(**settings).fit(curves(), groups=groups).release_


def flat(text):
    return " ".join(text.split())


def says_size(words):
    return re.search(rf"(?<![\d.,]){SIZE}(?![\d.,]*\d)", words)


def test_lines_fit_a_page():
    labels = {"domain": "position along the tract " * 4, "value": "fractional anisotropy " * 6}
    for settings in ({}, {"delta": 1e-3, "epsilon": 9}, {"neighbours": "add-remove", "labels": labels}):
        assert max(map(len, released(**settings).describe().splitlines())) <= 88


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 6])
def test_odds_are_those_of_epsilon(epsilon):
    words = flat(released(epsilon=epsilon).describe())
    factor = float(re.search(r"at most a factor exp\([\d.]+\) = ([\d.]+)", words)[1])
    assert factor == pytest.approx(math.exp(epsilon), rel=5e-3)
    half, low, rare = (
        float(number) / 100
        for number in re.search(
            r"50% can become at most about ([\d.]+)% and fall to no less than about ([\d.]+)%; "
            r"one of 1% can become at most about ([\d.]+)%",
            words,
        ).groups()
    )
    # Odds of a half are 1 to 1, of 1 per cent 1 to 99.
    assert half / (1 - half) == pytest.approx(math.exp(epsilon), rel=1e-2)
    assert low / (1 - low) == pytest.approx(math.exp(-epsilon), rel=1e-2)
    assert rare / (1 - rare) == pytest.approx(math.exp(epsilon) / 99, rel=1e-2)


def test_the_familiar_case_reads_as_people_know_it():
    words = flat(released(epsilon=1).describe())
    assert "Differential privacy with epsilon = 1 (pure: delta = 0)." in words
    assert "= 2.72, up or down" in words
    assert "about 73.1%" in words


def test_delta_is_said_with_its_chance():
    words = flat(released(epsilon=1, delta=2e-6, mechanism="gaussian").describe())
    assert "epsilon = 1 and delta = 2e-06" in words
    assert "about one in 500,000" in words
    # Group privacy for two: delta (1 + e^epsilon).
    assert "epsilon doubled and delta 3.72 times as large" in words


def test_pure_release_says_nothing_of_delta_loosening():
    assert "Delta =" not in released().describe()


def test_zero_concentrated_guarantee_is_put_into_epsilon():
    release = released(delta=1e-6)
    certificate = dataclasses.replace(
        certificate_of(ZeroConcentratedDP("0.05")), bound=release.certificate.bound
    )
    release = dataclasses.replace(release, certificate=certificate)
    words = flat(release.describe())
    # Canonne, Kamath & Steinke 2020, Corollary 13: of all orders the one that gives least.
    order = 1 + np.geomspace(0.01, 1e4, 100_000)
    tail = 6 * math.log(10) + order * np.log1p(-1 / order) - np.log(order - 1)
    epsilon = (0.05 * order + tail / (order - 1)).min()
    assert f"rho = 0.05, which implies epsilon = {epsilon:.3g} at delta = 1e-06" in words
    assert f"= {math.exp(epsilon):.3g}, up or down" in words
    assert "no more than rho = 0.1." in words


def test_units_and_neighbours():
    people = np.arange(SIZE) // 2
    words = flat(released(groups=people, unit="patient").describe())
    assert "The unit of protection is one patient. All data of one patient together" in words
    # A file cannot say whether somebody had several records that nobody grouped.
    assert "provided that each has a single record or that records were grouped by it" in words
    assert f"the number of patients: {(SIZE + 1) // 2}." in words
    assert says_size(flat(released().describe()))
    assert "replaced by any other data whatever" in words
    assert "(--groups)" not in words
    assert "(--groups) to protect persons" in released().describe()


def test_private_count_is_nowhere():
    # A count with noise of scale 10/epsilon: at this epsilon the noise cannot be zero in practice,
    # and no statement may show the count itself.
    release = released(epsilon=0.01, neighbours="add-remove")
    words = release.describe()
    assert release.public_units is None
    told = r"count with noise, alone and with the sum, ([\d.,]+), which"
    own = re.search(told, flat(words))[1]
    assert not says_size(flat(words).replace(f"the sum, {own}", ""))
    apart = flat(released(epsilon=0.01, neighbours="add-remove", mechanism="knorm").describe())
    assert "The sum was divided by a count with noise of its own, " in apart
    assert "The number of records is private too" in flat(words)
    assert "a private number of records" in flat(words)


def test_public_divisor_is_not_called_a_count():
    words = flat(released(neighbours="add-remove", public_size=400).describe())
    assert "the number that the sum was divided by: 400." in words
    assert not says_size(words)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (ValueBounds(-0.5, 1.5), "every value below -0.5 was raised to -0.5 and every value above 1.5"),
        (ValueBounds(np.zeros(POINTS), np.full(POINTS, 2.0)), "outside two public limit curves"),
        (L2Ball(1.25), "was above 1.25 was scaled down to that size"),
        (L1Ball(2.5), "its parts added up to more than 2.5"),
    ],
)
def test_bound_in_words(bound, words):
    assert words in flat(released(bounds=bound).describe())


def test_standardised_release_has_no_unit():
    words = flat(released(bounds=None, standardize=True).describe())
    assert "itself minus its own mean, divided by its own size" in words
    assert "standardised, without unit" in words


def test_labels_name_units_of_the_error():
    release = released(labels={"domain": "hour of the day", "value": "load (MW)"})
    words = flat(release.describe())
    assert "over hour of the day from 0 to 1" in words
    accuracy = release.facts.bands[0]
    assert (
        f"within {number(accuracy.largest)} of the published values (in the units of 'load (MW)')"
        in words
    )


def test_derivative_is_named():
    words = flat(released().derivative().describe())
    assert "the derivative (of order 1) of a mean curve" in words
    assert "per unit of the axis" in words
    named = released(labels={"domain": "age (years)"})
    assert named.derivative().view().y_label == "derivative of value, per year"
    assert "per year^2" in named.derivative().derivative().facts.bands[0].claim.unit


def test_two_releases_add_up():
    assert "no more than epsilon = 3." in flat(released(epsilon=1.5).describe())
    words = flat(released(epsilon=1.5, delta=1e-6, mechanism="gaussian").describe())
    assert "no more than epsilon = 3 and delta = 2e-06." in words


def test_accuracy_of_gaussian_noise_has_its_closed_form():
    release = released(delta=1e-6, mechanism="gaussian")
    points = np.linspace(0, 1, 201)
    scales = np.sqrt(release.noise.variances()) * 2.0**-release.exponent * release.shrinkage / SIZE
    deviation = np.sqrt(((release.basis.evaluate(points) * scales) ** 2).sum(axis=1))
    accuracy = release.facts.bands[0]
    # A quantile from 20,000 draws has a relative standard error of about 0.6 per cent.
    assert accuracy.at_a_point == pytest.approx(1.95996 * deviation.mean(), rel=0.03)
    assert accuracy.typical > accuracy.at_a_point
    # The simultaneous band is a multiple of the deviation, at most that of a union bound over the
    # points: 3.66 deviations at 201 points.
    assert accuracy.largest / accuracy.typical == pytest.approx(
        deviation.max() / deviation.mean(), rel=0.02
    )
    assert accuracy.typical < 3.8 * deviation.mean()


def test_band_at_few_points_is_that_of_the_domain():
    release = released(bounds=L2Ball(1.0))
    at = [0.1, 0.77]
    few, whole = release.table(at).columns, release.band(0.95)
    assert few["point"].tolist() == at
    widths = [np.interp(at, whole.points, whole.upper - whole.lower), few["upper"] - few["lower"]]
    np.testing.assert_allclose(widths[1], widths[0], rtol=0.02)
    # A band simultaneous over two points alone is narrower: tables would not hold together.
    alone = release.band(0.95, points=at)
    assert np.all(alone.upper - alone.lower < 0.97 * widths[1])


@pytest.mark.parametrize(
    ("guarantee", "size", "words"),
    [
        (PureDP(5), 100, []),
        (PureDP("5.1"), None, ["suspicion of 50% can become one of 99.394%"]),
        (ApproximateDP(1, "1e-5"), 10_000, []),
        (ApproximateDP(1, "2e-5"), 1000, ["above 1e-05"]),
        (ApproximateDP(1, "1e-6"), 1_000_000, ["not below one over the number of units (1/1000000)"]),
        (ApproximateDP(1, "1e-6"), None, []),
        (ApproximateDP(8, "0.01"), None, ["Epsilon 8 is large", "above 1e-05"]),
        # Of all orders the one that gives least gives 4.98 at rho = 0.46 and 5.04 at rho = 0.47.
        (ZeroConcentratedDP("0.46"), 100, []),
        (ZeroConcentratedDP("0.47"), 100, ["is that of rho 0.47, but for a probability of about 1e-06"]),
    ],
)
def test_cautions(guarantee, size, words):
    found = cautions(guarantee, size)
    assert len(found) == len(words)
    for expected, text in zip(words, found, strict=True):
        assert expected in text


def test_cautions_are_in_the_report_only_where_there_are_any():
    assert "Warnings\n--------" not in released().describe()
    assert "Warnings\n--------" in released(epsilon=6).describe()
    # The number of units counts where it is public, and only there.
    delta = 1.1 / SIZE
    assert f"(1/{SIZE})" in released(delta=delta, mechanism="gaussian").describe()
    assert f"1/{SIZE}" not in released(delta=delta, neighbours="add-remove").describe()


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.012345, "0.0123"), (999.4, "999"), (1234.5, "1,234"), (3.2e6, "3,200,000"), (2e9, "2e+09")],
)
def test_numbers_are_written_as_people_read_them(value, words):
    assert number(value) == words


def test_extreme_guarantees_do_not_read_as_certainty():
    for epsilon in (40, 1000):
        words = flat(released(epsilon=epsilon).describe())
        assert "100%" not in words
        assert "about 0%" not in words


def test_citation():
    words = flat(released(epsilon=0.5, mechanism="laplace").facts.citation)
    assert words.startswith(
        f"The mean curve of {SIZE} records was published under 0.5-differential privacy"
    )
    assert "replace-one neighbours" in words
    assert "values clipped to [0, 1.2]" in words
    assert re.search(r"laplace mechanism\) with dpfda \d", words)
