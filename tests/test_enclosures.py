"""Enclosures by one float or two hold what they enclose; exact draws of arrays are those of balls."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.noise import BoxNoise, EllipsoidNoise, GaussianNoise, KNormNoise
from dpfda.noise.elliptical import EllipticalNoise
from dpfda.noise.symmetric import SymmetricKNormNoise
from dpfda.noise.wishart import CoupledNoise, WishartDifferenceNoise
from dpfda.numerics import drawing, enclosures, exactness, twofold
from dpfda.numerics.enclosures import UNIT, Enclosures
from dpfda.numerics.errors import DpfdaError
from dpfda.numerics.twofold import Twofold
from statistical import FALSE_ALARM, rounded_laplace_p_value

ULP = 2 * UNIT


def holds(found: Enclosures, exact: list[mpmath.mpf]) -> bool:
    with mpmath.workprec(400):
        return all(
            abs(mpmath.mpf(float(m)) - value) <= mpmath.mpf(float(r))
            for m, r, value in zip(found.middle.ravel(), found.radius.ravel(), exact, strict=True)
        )


def awkward(count: int, seed: int) -> np.ndarray:
    """Positive numbers of all sizes, near one, near powers of two, and near the root of a half."""
    rng = np.random.default_rng(seed)
    near = rng.choice([1.0, 0.5, 2.0, math.sqrt(0.5), math.sqrt(2.0), 0.25], count)
    spread = near * (1 + rng.normal(size=count) * 10.0 ** rng.uniform(-17, -1, count))
    return np.where(rng.random(count) < 0.5, np.exp(rng.normal(0, 20, count)), np.abs(spread))


def test_logarithms_hold_and_are_not_wasteful():
    x = awkward(20_000, 1)
    found = enclosures.log(enclosures.enclosed(x))
    with mpmath.workprec(200):
        exact = [mpmath.log(mpmath.mpf(value)) for value in x.tolist()]
        assert holds(found, exact)
        errors = [
            float(abs(mpmath.mpf(float(m)) - e) / abs(e)) if e else 0.0
            for m, e in zip(found.middle, exact, strict=True)
        ]
    # Off by more than rounding alone, and by less than half of what is proved.
    assert UNIT < max(errors) < 8 * UNIT / 2
    assert np.all(found.radius <= 9 * UNIT * np.abs(found.middle) + 1e-290)


def test_turns_hold_and_are_not_wasteful():
    rng = np.random.default_rng(2)
    v = np.concatenate(
        [rng.random(10_000), np.arange(65) / 64, np.arange(1, 64) / 64 + rng.normal(0, 1e-12, 63)]
    )
    cosine, sine = enclosures.turns(enclosures.enclosed(v))
    with mpmath.workprec(200):
        angles = [2 * mpmath.pi * mpmath.mpf(value) for value in v.tolist()]
        exact = [mpmath.cos(angle) for angle in angles], [mpmath.sin(angle) for angle in angles]
        assert holds(cosine, exact[0])
        assert holds(sine, exact[1])
        errors = [
            float(abs(mpmath.mpf(float(m)) - e)) for m, e in zip(sine.middle, exact[1], strict=True)
        ]
    assert UNIT / 2 < max(errors) < 4 * UNIT
    assert cosine.radius.max() < 5 * UNIT


numbers = st.floats(-1e9, 1e9, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-9)
radii = st.sampled_from([0.0, 1e-18, 1e-9, 1e-3, 0.7, 12.0])
ends = st.sampled_from([-1, -0.5, 0, 0.25, 1])


@settings(deadline=None, max_examples=300)
@given(x=numbers, y=numbers, r=radii, s=radii, at=ends, other=ends)
def test_arithmetic_holds_at_every_point_of_its_operands(x, y, r, s, at, other):
    a, b = (Enclosures(np.array([m]), np.array([w])) for m, w in ((x, r), (y, s)))
    with mpmath.workprec(400), np.errstate(all="ignore"):
        p, q = mpmath.mpf(x) + at * mpmath.mpf(r), mpmath.mpf(y) + other * mpmath.mpf(s)
        assert holds(a + b, [p + q])
        assert holds(a - b, [p - q])
        assert holds(a * b, [p * q])
        assert holds(3 - a, [3 - p])
        if y - s > 0:
            assert holds(a / b, [p / q])
            assert holds(1 / b, [1 / q])
        if x > r:
            assert holds(enclosures.sqrt(a), [mpmath.sqrt(p)])
            assert holds(enclosures.log(a), [mpmath.log(p)])
        if 0 <= p <= 1 and 0 <= x <= 1:
            cosine, sine = enclosures.turns(a)
            assert holds(cosine, [mpmath.cos(2 * mpmath.pi * p)])
            assert holds(sine, [mpmath.sin(2 * mpmath.pi * p)])


def covered(found: Enclosures, exact: list[mpmath.mpf]) -> bool:
    """As `holds`, or nothing is said to be known."""
    return not np.isfinite(found.radius).all() or holds(found, exact)


# From the least subnormal number on: what underflows on the way must be in the radius.
tiny = st.builds(
    math.ldexp, st.floats(0.5, 1), st.one_of(st.integers(-1080, -1000), st.integers(-1080, 40))
)


@settings(deadline=None, max_examples=300)
@given(x=tiny, y=tiny, r=tiny, s=tiny, at=ends, other=ends)
def test_arithmetic_holds_down_to_the_least_number(x, y, r, s, at, other):
    a, b = (Enclosures(np.array([m]), np.array([w])) for m, w in ((x, r), (y, s)))
    with mpmath.workprec(3000), np.errstate(all="ignore"):
        p, q = mpmath.mpf(x) + at * mpmath.mpf(r), mpmath.mpf(y) + other * mpmath.mpf(s)
        assert covered(a + b, [p + q])
        assert covered(a * b, [p * q])
        if y - s > 0:
            assert covered(a / b, [p / q])
        if x - r > 0:
            assert covered(enclosures.sqrt(a), [mpmath.sqrt(p)])
            assert covered(enclosures.log(a), [mpmath.log(p)])


@pytest.mark.parametrize("operation", [enclosures.log, enclosures.sqrt, lambda x: 1 / x])
def test_what_may_be_zero_is_not_known(operation):
    with np.errstate(all="ignore"):
        found = operation(Enclosures(np.array([0.0, 1e-20, 1.0]), np.array([1e-19, 1e-19, 2.0])))
    assert not np.isfinite(found.radius).any()
    assert not found.nearest()[1].any()


@settings(deadline=None)
@given(bits=st.integers(1, 64), data=st.data())
def test_uniforms_hold_every_continuation_of_their_bits(bits, data):
    number = data.draw(st.one_of(st.integers(0, 2**bits - 1), st.sampled_from([0, 2**bits - 1])))
    found = enclosures.uniforms(np.array([number], dtype=np.uint64), bits)
    with mpmath.workprec(400):
        for end in (number, number + 1):
            assert holds(found, [mpmath.mpf(end) / mpmath.mpf(2) ** bits])


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000])
def test_sums_of_logarithms_hold(count):
    words = np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64)
    found = enclosures.sum_of_logs(enclosures.uniforms(part) for part in (words[:70], words[70:]))
    with mpmath.workprec(300):
        for end in (0, 1):
            logs = [mpmath.log((mpmath.mpf(int(word)) + end) / mpmath.mpf(2) ** 64) for word in words]
            assert holds(found, [mpmath.fsum(logs)])
    assert float(found.radius) < 30 * UNIT * count


def test_a_uniform_that_may_be_zero_leaves_the_sum_unknown():
    words = np.array([5, 0, 2**63], dtype=np.uint64)
    assert not np.isfinite(enclosures.sum_of_logs([enclosures.uniforms(words)]).radius)


@settings(deadline=None)
@given(middle=st.floats(-1e6, 1e6), radius=st.floats(0, 2))
def test_integers_are_read_off_only_where_they_are_determined(middle, radius):
    integers, decided = Enclosures(np.array([middle]), np.array([radius])).nearest()
    with mpmath.workprec(200):
        ends = [
            int(mpmath.floor(mpmath.mpf(middle) + sign * mpmath.mpf(radius) + 0.5)) for sign in (-1, 1)
        ]
        distance = abs(abs(mpmath.mpf(middle) - mpmath.nint(middle)) + mpmath.mpf(radius) - 0.5)
    if decided[0]:
        assert ends == [integers[0]] * 2
    else:
        assert ends[0] != ends[1] or distance < 1e-11


def test_large_and_unknown_numbers_are_not_read_off():
    middle = np.array([2.0**52, np.nan, np.inf, 1.0, 1.0])
    radius = np.array([0.0, 0.0, 0.0, np.nan, np.inf])
    assert not Enclosures(middle, radius).nearest()[1].any()


@pytest.mark.parametrize("make", [enclosures.enclosed, twofold.exactly])
def test_exact_arrays_are_summed_and_taken_apart(make):
    exact = make(np.arange(6.0).reshape(2, 3))
    for axis, sums in ((0, [3.0, 5.0, 7.0]), (1, [3.0, 12.0])):
        found = exact.sum(axis=axis)
        nearest, decided = found.nearest()
        assert decided.all()
        np.testing.assert_array_equal(nearest, sums)
    assert exact[1, 2].nearest()[0] == 5


def test_sums_of_arrays_hold():
    rng = np.random.default_rng(3)
    terms = Enclosures(rng.normal(size=(500, 4)), np.full((500, 4), 1e-12))
    found = terms.sum(axis=0)
    with mpmath.workprec(300):
        exact = [
            mpmath.fsum([mpmath.mpf(v) + 1e-12 for v in column]) for column in terms.middle.T.tolist()
        ]
    assert holds(found, exact)


# Sums of two floats.

lower = st.sampled_from([0.0, 1e-18, -3e-19, 1.1e-17])
small = st.sampled_from([0.0, 1e-35, 1e-30, 1e-9])


def holds_twofold(found: Twofold, exact: list[mpmath.mpf], narrow: float | None = None) -> bool:
    """Whether radii cover the errors, and are no larger than so much of the numbers."""
    parts = (
        np.ravel(part).tolist() for part in np.broadcast_arrays(found.high, found.low, found.radius)
    )
    with mpmath.workprec(2000):
        return all(
            abs(mpmath.mpf(high) + mpmath.mpf(low) - value) <= radius
            and (narrow is None or radius <= narrow * abs(value) + 2.0**-790)
            for high, low, radius, value in zip(*parts, exact, strict=True)
        )


@settings(deadline=None, max_examples=300)
@given(
    x=numbers, y=numbers, lows=st.tuples(lower, lower), r=small, s=small,
    places=st.tuples(ends, ends), by=st.sampled_from([1.0, 1e-200, 1e120]),
)  # fmt: skip
def test_arithmetic_of_two_floats_holds(x, y, lows, r, s, places, by):
    x, r = x * by, r * by
    a = Twofold(np.array([x]), np.array([x * lows[0]]), np.array([r]))
    b = Twofold(np.array([y]), np.array([y * lows[1]]), np.array([s]))
    with mpmath.workprec(2000), np.errstate(all="ignore"), exactness.precision(160):
        mids = [mpmath.mpf(float(z.high[0])) + mpmath.mpf(float(z.low[0])) for z in (a, b)]
        p, q = (m + at * mpmath.mpf(w) for m, at, w in zip(mids, places, (r, s), strict=True))
        narrow = 2.0**-100 if r == s == 0 else None
        assert holds_twofold(a * b, [p * q], narrow)
        assert holds_twofold(a + b, [p + q], narrow if x * y > 0 else None)
        assert holds_twofold(3 - a, [3 - p])
        assert holds_twofold(a[np.array([0, 0])].sum(axis=0), [2 * p])
        if y > s + 1e-6:
            assert holds_twofold(a / b, [p / q], narrow)
            assert holds_twofold(twofold.log(b), [mpmath.log(q)])
            assert holds_twofold(twofold.sqrt(b), [mpmath.sqrt(q)], narrow if s == 0 else None)
        for found, exact in zip(twofold.turns(b), (mpmath.cos, mpmath.sin), strict=True):
            assert holds_twofold(found, [exact(2 * mpmath.pi * q)])


def test_a_product_of_two_floats_that_overflows_or_is_none_is_not_known():
    for high in (1e200, 1e305, np.nan):
        with np.errstate(all="ignore"):
            found = twofold.exactly(np.array([high])) * np.array([high])
        assert not found.nearest()[1].any()
        assert not np.isfinite(found.radius).any()


@settings(deadline=None)
@given(values=st.lists(st.integers(-(2**200), 2**200) | st.integers(-(2**64), 2**64), max_size=5))
def test_two_floats_hold_integers_of_any_size(values):
    with mpmath.workprec(300):
        assert holds_twofold(twofold.integers(values), [mpmath.mpf(v) for v in values], 2.0**-105)
    few = [v for v in values if abs(v) < 2**60]
    found, decided = twofold.integers(few).nearest()
    assert decided.all()
    assert found.tolist() == few


@settings(deadline=None)
@given(first=st.integers(0, 2**64 - 1), second=st.integers(0, 2**64 - 1), bits=st.integers(1, 64))
def test_uniforms_of_two_words_hold_every_continuation(first, second, bits):
    first >>= 64 - bits
    found = twofold.uniforms(*(np.array([word], dtype=np.uint64) for word in (first, second)), bits)
    with mpmath.workprec(2000):
        for end in (0, 1):
            value = mpmath.mpf((first << 64) + second + end) / mpmath.mpf(2) ** (bits + 64)
            assert holds_twofold(found, [value])
    assert found.radius[0] <= 2.0 ** -(bits + 51) + 2.0**-105 * found.high[0]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
def test_sums_of_logarithms_of_two_floats_hold(count):
    words = np.random.default_rng(count).integers(0, 2**64, (2, count), dtype=np.uint64)
    with exactness.precision(160):
        parts = np.array_split(words, range(70, count, 70), axis=1)
        found = twofold.sum_of_logs(twofold.uniforms(*part, 64) for part in parts)
    with mpmath.workprec(2000):
        for end in (0, 1):
            numbers = [(int(a) << 64) + int(b) + end for a, b in words.T]
            logs = [mpmath.log(mpmath.mpf(number) / mpmath.mpf(2) ** 128) for number in numbers]
            assert holds_twofold(found, [mpmath.fsum(logs)])
    assert float(found.radius) < 20 * count * 2.0**-104 + 2.0**-150


def test_a_uniform_that_may_be_zero_leaves_the_sum_of_two_floats_unknown():
    words = np.array([5, 0, 2**63], dtype=np.uint64)
    assert not np.isfinite(twofold.sum_of_logs([twofold.uniforms(words, 0 * words, 64)]).radius)


@settings(deadline=None)
@given(
    high=st.integers(-(2**60), 2**60).map(float), low=st.floats(-3, 3), radius=st.floats(0, 1),
)  # fmt: skip
def test_integers_are_read_off_two_floats_only_where_determined(high, low, radius):
    found, decided = Twofold(np.array([high]), np.array([low]), np.array([radius])).nearest()
    with mpmath.workprec(300):
        reach = [mpmath.mpf(high) + mpmath.mpf(low) + sign * mpmath.mpf(radius) for sign in (-1, 1)]
        whole = [int(mpmath.floor(end + 0.5)) for end in reach]
    if decided[0]:
        assert whole == [found[0]] * 2
    elif radius < 0.1:
        assert abs(abs(low - round(low)) - 0.5) < radius + 1e-11


# Draws of whole arrays.


class Words:
    """Bits of each place from a generator of its own, so that either way sees the same."""

    def __init__(self, seed: int) -> None:
        self.seed, self.streams = seed, {}

    def __call__(self, places, bits):
        return [self.more(int(place), bits) for place in places]

    def more(self, place: int, bits: int) -> int:
        stream = self.streams.setdefault(place, np.random.default_rng([self.seed, place]))
        digits = stream.integers(0, 2, bits)
        return int("".join(map(str, digits)), 2)


LAWS = {
    "laplace": KNormNoise((1,) * 40, (1, 3, 2**20, 2**45, 2**60) * 8),
    "block": KNormNoise((40,), (2**30,)),
    "even block": KNormNoise((41,), (7,)),
    "gaussian": GaussianNoise((1, 5, 2**20, 2**40, 2**70) * 8),
    "box": BoxNoise((9, 2**30) * 20),
    "ellipsoid": EllipsoidNoise((1, 100, 2**40) * 13),
    "t": EllipticalNoise(40, 1000, "student-t", 5),
    "multivariate laplace": EllipticalNoise(40, 1000, "laplace", 0),
    "matrix block": SymmetricKNormNoise(8, 2**25),
    "wishart": WishartDifferenceNoise(6, 2**20),
    "coupled": CoupledNoise(6, 2**20),
}


def drawn(law, seed: int, bits: int, monkeypatch) -> list[int]:
    real = drawing.draw_array
    with monkeypatch.context() as patch:
        patch.setattr(
            drawing,
            "draw_array",
            lambda values, uniforms, outputs, **options: real(
                values, uniforms, outputs, Words(seed), bits, **options
            ),
        )
        return law.draw()


@pytest.mark.parametrize("name", LAWS)
def test_floats_and_balls_draw_the_same_integers_from_the_same_bits(name, monkeypatch):
    for seed in range(6):
        assert drawn(LAWS[name], seed, 64, monkeypatch) == drawn(LAWS[name], seed, 512, monkeypatch)
        assert drawn(LAWS[name], seed, 9, monkeypatch) == drawn(LAWS[name], seed, 512, monkeypatch)


WIDE = {
    "box": BoxNoise((2**43 + 1, 2**45 - 3) * 600),
    "block": KNormNoise((1200,), (2**50 + 1,)),
    "laplace": KNormNoise((1,) * 1200, (2**52 + 1,) * 1200),
}


@pytest.mark.parametrize("name", WIDE)
def test_two_floats_draw_the_same_integers_from_the_same_bits(name, monkeypatch):
    """Scales at which one float decides little, and two nearly everything."""
    law, asked = WIDE[name], []
    real = drawing.uniform_ball

    def counting(number, bits):
        asked.append(bits)
        return real(number, bits)

    exact = drawn(law, 0, 256, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(drawing, "uniform_ball", counting)
        assert drawn(law, 0, 64, patch) == exact
    # Two floats leave hardly a uniform to ball arithmetic.
    assert len(asked) <= 10
    with monkeypatch.context() as patch:
        # Products to one float's accuracy, not accounted for, would be found out.
        patch.setattr(twofold, "exact_product", lambda a, b: (a * b, 0 * a * b))
        assert drawn(law, 0, 64, patch) != exact


def test_bits_that_are_no_whole_words_are_refused():
    with pytest.raises(DpfdaError, match=r"bits must be a multiple of 64; found 28\."):
        drawing.system_words(np.arange(3), 28)


def test_too_small_a_radius_would_be_found_out(monkeypatch):
    """Without the error bound of the logarithm, integers would be read off that are not determined."""
    law = KNormNoise((1,) * 1500, (2**50,) * 1500)
    exact = drawn(law, 0, 512, monkeypatch)
    assert drawn(law, 0, 64, monkeypatch) == exact
    with monkeypatch.context() as patch:
        patch.setattr(enclosures, "LOG_ERROR", 0.0)
        patch.setattr(enclosures, "UNIT", 0.0)
        assert drawn(law, 0, 64, patch) != exact


def test_most_integers_are_found_in_floats(monkeypatch):
    asked = []
    real = drawing.system_words
    monkeypatch.setattr(drawing, "system_words", None)

    def source(places, bits):
        asked.append(places.size)
        return real(places, bits)

    count = 20_000

    def values(a):
        return lambda places: a.integers([2**30] * count)[places] * drawing.laplace(a, 0, places)

    drawing.draw_array(values, 2 * count, count, source)
    # The first asks for all; about one in 2^18 values needs more.
    assert asked[0] == 2 * count
    assert sum(asked[1:]) <= 20


def test_the_law_of_an_array_is_laplace():
    draws = KNormNoise((1,) * 20_000, (3,) * 20_000).draw()
    assert rounded_laplace_p_value(draws, 3) > FALSE_ALARM
    # The test sees a scale that is wrong by the root of two, either way.
    for wrong in (2, 4):
        assert rounded_laplace_p_value(draws, wrong) < FALSE_ALARM
