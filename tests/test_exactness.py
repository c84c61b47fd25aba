"""Exact drawing: fresh bits, enclosures, refinement of the same uniforms, nothing lost in a fork."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.numerics import drawing, exactness
from statistical import FALSE_ALARM, rounded_laplace_p_value


def seeded(seed: int) -> Callable[[int], int]:
    """A bit source that a seed repeats."""
    generator = np.random.default_rng(seed)

    def source(bits: int) -> int:
        size = (bits + 7) // 8
        return int.from_bytes(generator.bytes(size), "big") >> (8 * size - bits)

    return source


class Tape:
    """A bit source that plays one fixed endless bit string for each uniform, in turn.

    Parameters
    ----------
    seed : int
        Of the strings; `starts` overrides the first bits of some of them.
    uniforms : int
        How many strings.
    starts : dict
        Uniform -> text of leading bits.
    """

    LENGTH = 4096

    def __init__(self, seed: int, uniforms: int, starts: dict[int, str] | None = None) -> None:
        source = seeded(seed)
        self.strings = [format(source(self.LENGTH), f"0{self.LENGTH}b") for _ in range(uniforms)]
        for uniform, start in (starts or {}).items():
            self.strings[uniform] = start + self.strings[uniform][len(start) :]
        self.read = [0] * uniforms
        self.calls = 0

    def __call__(self, places: np.ndarray, bits: int) -> list[int]:
        self.calls += 1
        return [self.next(int(uniform), bits) for uniform in places]

    def next(self, uniform: int, bits: int) -> int:
        position = self.read[uniform]
        self.read[uniform] = position + bits
        assert position + bits <= self.LENGTH
        return int(self.strings[uniform][position : position + bits], 2)

    @property
    def refined(self) -> bool:
        return self.calls > 1

    def uniform(self, index: int) -> mpmath.mpf:
        return mpmath.mpf(int(self.strings[index], 2)) / mpmath.mpf(2) ** self.LENGTH


def drawn(law, tape: drawing.PlacedBits, initial_bits: int, monkeypatch) -> list[int]:
    """A draw of a noise law from a given bit source instead of the operating system."""
    real = drawing.draw_array

    def from_tape(values, uniforms, outputs, **options):
        return real(values, uniforms, outputs, tape, initial_bits, **options)

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "draw_array", from_tape)
        return law.draw()


def uniforms_of(law, monkeypatch) -> int:
    """How many uniforms a draw of the law takes."""
    counted = []
    real = drawing.draw_array

    def counting(values, uniforms, outputs, **options):
        counted.append(uniforms)
        return real(values, uniforms, outputs, **options)

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "draw_array", counting)
        law.draw()
    assert len(counted) == 1
    return counted[0]


LAWS = {
    "laplace": KNormNoise((1,), (3,)),
    "laplace, wide": KNormNoise((1,), (2**40,)),
    "block of 2": KNormNoise((2,), (5,)),
    "block of 3": KNormNoise((3,), (2**35,)),
    "block of 8": KNormNoise((8,), (100,)),
    "normal": GaussianNoise((4,)),
    "normals": GaussianNoise((4, 2**35, 1)),
}


# Refinement appends bits to the same uniforms.


@pytest.mark.parametrize("initial", [2, 4, 8, 128])
@pytest.mark.parametrize("name", LAWS)
def test_refined_draws_are_those_of_the_same_bits(name, initial, monkeypatch):
    law = LAWS[name]
    uniforms = uniforms_of(law, monkeypatch)
    refined = 0
    for seed in range(60):
        tape = Tape(seed, uniforms)
        at_once = drawn(law, Tape(seed, uniforms), 1024, monkeypatch)
        assert drawn(law, tape, initial, monkeypatch) == at_once
        refined += tape.refined
    # With two bits nearly every draw is refined, with many bits none, so the comparison means something.
    assert refined >= {2: 50, 4: 1, 8: 1, 128: 0}[initial]
    assert refined == 0 or initial < 128


def test_a_draw_is_the_rounded_function_of_its_uniforms(monkeypatch):
    """The same Laplace and normal variables in mpmath, at 60 digits."""
    with mpmath.workdps(60):
        for seed in range(100):
            tape = Tape(seed, 2)
            first, second = tape.uniform(0), tape.uniform(1)
            for scale in (1, 3, 2**40):
                laplace = drawn(KNormNoise((1,), (scale,)), Tape(seed, 2), 4, monkeypatch)
                assert laplace == [int(mpmath.floor(scale * mpmath.log(second / first) + 0.5))]
                length = scale * mpmath.sqrt(-2 * mpmath.log(first))
                pair = drawn(GaussianNoise((scale, scale)), Tape(seed, 2), 4, monkeypatch)
                angle = 2 * mpmath.pi * second
                normal = [length * mpmath.cos(angle), length * mpmath.sin(angle)]
                assert pair == [int(mpmath.floor(value + 0.5)) for value in normal]


def laplace_of_scale(scale: int) -> Callable[[Sequence[arb]], list[arb]]:
    return lambda u: [scale * (u[1] / u[0]).log()]


def refining(source: Callable[[int], int], bits: int) -> int:
    return exactness.draw_rounded(laplace_of_scale(2), 2, source, bits)[0]


def redrawing(source: Callable[[int], int], bits: int) -> int:
    """The tempting mistake: fresh uniforms where a few bits do not decide."""
    while True:
        with exactness.precision(bits + 32):
            balls = [exactness.uniform_ball(source(bits), bits) for _ in range(2)]
            integer = exactness.nearest_integer(laplace_of_scale(2)(balls)[0])
        if integer is not None:
            return integer


# Four bits lie between those of every run.
@pytest.mark.parametrize("bits", [2, pytest.param(4, marks=pytest.mark.thorough), 8])
def test_refinement_leaves_the_law_as_it_is(bits):
    source = seeded(bits)
    draws = [refining(source, bits) for _ in range(8000)]
    assert rounded_laplace_p_value(draws, 2) > FALSE_ALARM


# With fewer bits more is drawn again, which is found out sooner.
@pytest.mark.parametrize("bits", [pytest.param(4, marks=pytest.mark.thorough), 6])
def test_redrawing_instead_would_be_found_out(bits):
    source = seeded(bits)
    draws = [redrawing(source, bits) for _ in range(8000)]
    assert rounded_laplace_p_value(draws, 2) < FALSE_ALARM


# The first and the last bins, where logarithms and roots have no finite enclosure.


@pytest.mark.parametrize(
    "start", ["0" * 128, "1" * 128, "0" * 300, "1" * 300], ids=lambda s: s[0] + str(len(s))
)
@pytest.mark.parametrize("name", LAWS)
def test_extreme_bits_are_drawn_like_any_others(name, start, monkeypatch):
    law = LAWS[name]
    uniforms = uniforms_of(law, monkeypatch)
    for place in range(uniforms):
        at_once = drawn(law, Tape(7, uniforms, {place: start}), 2048, monkeypatch)
        assert drawn(law, Tape(7, uniforms, {place: start}), 128, monkeypatch) == at_once
    everywhere = dict.fromkeys(range(uniforms), start)
    at_once = drawn(law, Tape(8, uniforms, everywhere), 2048, monkeypatch)
    assert drawn(law, Tape(8, uniforms, everywhere), 128, monkeypatch) == at_once


@pytest.mark.parametrize(
    ("law", "place", "digit"),
    [
        (KNormNoise((1,), (3,)), 0, "0"),
        (KNormNoise((1,), (3,)), 1, "0"),
        (GaussianNoise((4,)), 0, "0"),
        (GaussianNoise((4,)), 0, "1"),
        (KNormNoise((3,), (5,)), 0, "0"),
    ],
)
def test_bins_without_a_finite_value_are_refined(law, place, digit, monkeypatch):
    uniforms = uniforms_of(law, monkeypatch)
    tape = Tape(9, uniforms, {place: digit * 128})
    noise = drawn(law, tape, 128, monkeypatch)
    assert tape.refined
    assert all(isinstance(value, int) for value in noise)


def test_a_tail_beyond_any_table_is_reached(monkeypatch):
    """A uniform below 2^-1000 gives a Laplace variable of about 1000 log 2."""
    tape = Tape(10, 2, {0: "0" * 1000})
    with mpmath.workdps(700):
        expected = mpmath.log(tape.uniform(1) / tape.uniform(0))
    assert expected > 680
    assert drawn(KNormNoise((1,), (1,)), tape, 128, monkeypatch) == [int(mpmath.nint(expected))]


# Enclosures.


def enclosed(value: arb, low: Fraction, high: Fraction) -> bool:
    def end(mark: arb) -> Fraction:
        mantissa, exponent = mark.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    return end(value.lower()) <= low and high <= end(value.upper())


@settings(deadline=None)
@given(bits=st.integers(1, 400), data=st.data())
def test_a_uniform_ball_holds_every_continuation_of_its_bits(bits, data):
    numerator = data.draw(
        st.one_of(st.integers(0, 2**bits - 1), st.sampled_from([0, 2**bits - 1])), label="numerator"
    )
    low, high = Fraction(numerator, 2**bits), Fraction(numerator + 1, 2**bits)
    with exactness.precision(bits + exactness.GUARD_BITS):
        ball = exactness.uniform_ball(numerator, bits)
        assert enclosed(ball, low, high)
        # It is not wastefully wide either: less than a thousandth more than the bin.
        assert not enclosed(ball, low - (high - low) / 1000, high + (high - low) / 1000)
    # At a working precision that is too low it is wider, but still an enclosure.
    with exactness.precision(20):
        assert enclosed(exactness.uniform_ball(numerator, bits), low, high)


@settings(deadline=None)
@given(value=st.fractions())
def test_balls_and_their_upper_ends_are_outward(value):
    with exactness.precision(64):
        ball = exactness.enclosed(value)
        assert enclosed(ball, value, value)
        upper = exactness.upper_end(ball)
        assert value <= upper <= value + abs(value) / 2**50


@settings(deadline=None)
@given(value=st.fractions(max_denominator=10**6), radius=st.fractions(0, 2))
def test_an_integer_is_read_off_only_if_the_ball_decides_it(value, radius):
    with exactness.precision(128):
        ball = exactness.enclosed(value) + arb(0, exactness.enclosed(radius).upper())
        found = exactness.nearest_integer(ball)
    nearest = {int((end + Fraction(1, 2)).__floor__()) for end in (value - radius, value + radius)}
    if len(nearest) == 2:
        assert found is None
    elif found is None:
        # Undecided only where an end all but touches a boundary.
        ends = [(end - Fraction(1, 2)) for end in (value - radius, value + radius)]
        assert min(abs(end - round(end)) for end in ends) < Fraction(1, 2**20)
    else:
        assert {found} == nearest


@pytest.mark.parametrize("value", [arb("nan"), arb("inf"), arb("-inf"), arb(0, "inf")])
def test_no_integer_is_read_off_what_is_not_finite(value):
    assert exactness.nearest_integer(value) is None


def test_halves_are_rounded_up():
    assert [exactness.nearest_integer(arb(value)) for value in (0.5, -0.5, 1.5, -1.5)] == [1, 0, 2, -1]


# Entropy.


@settings(deadline=None)
@given(bits=st.integers(1, 300))
def test_system_bits_are_as_many_as_asked_for(bits):
    assert 0 <= exactness.system_bits(bits) < 2**bits


def test_all_bits_of_the_operating_system_are_used_and_no_others(monkeypatch):
    asked = []

    def ones(size):
        asked.append(size)
        return b"\xff" * size

    monkeypatch.setattr(os, "urandom", ones)
    assert exactness.system_bits(13) == 2**13 - 1
    assert exactness.system_bits(128) == 2**128 - 1
    assert asked == [2, 16]


def test_each_bit_is_fair():
    draws = [exactness.system_bits(20) for _ in range(4000)]
    for bit in range(20):
        ones = sum(draw >> bit & 1 for draw in draws)
        # Six standard deviations of a fair count.
        assert abs(ones - 2000) < 6 * 4000**0.5 / 2


@pytest.mark.parametrize("name", LAWS)
def test_every_draw_asks_the_operating_system_anew(name, monkeypatch):
    law = LAWS[name]
    expected = uniforms_of(law, monkeypatch) * exactness.INITIAL_BITS // 8
    real, asked = os.urandom, []

    def counting(size):
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", counting)
    for _ in range(20):
        asked.clear()
        law.draw()
        assert sum(asked) >= expected
        # A refinement asks for more; it has a chance of about 2^-80, so nothing is read ahead.
        assert sum(asked) == expected


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def in_a_child(task: Callable[[], str]) -> str:
    """Run a task in a forked child, which is killed after twenty seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)
            os.write(writing, task().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def noise_text() -> str:
    return repr([KNormNoise((1, 2), (2**60, 2**60)).draw() for _ in range(3)])


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_after_a_fork_have_noise_of_their_own():
    noise_text()  # So that anything that could be buffered has been.
    answers = [in_a_child(noise_text), in_a_child(noise_text), noise_text()]
    assert all(answers)
    assert len(set(answers)) == 3


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_during_another_threads_draw_can_draw():
    holding, done = threading.Event(), threading.Event()

    def hold():
        with exactness.precision(77):
            holding.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert holding.wait(10)
        assert in_a_child(noise_text).startswith("[[")
    finally:
        done.set()
        thread.join()


# The working precision is one global number of python-flint.


def test_precision_is_held_and_given_back():
    before = ctx.prec
    with exactness.precision(200):
        assert ctx.prec == 200
        with exactness.precision(90):
            assert ctx.prec == 90
        assert ctx.prec == 200
    assert ctx.prec == before
    with pytest.raises(KeyError), exactness.precision(201):
        raise KeyError
    assert ctx.prec == before


def test_a_foreign_precision_does_not_falsify_a_draw(monkeypatch):
    """Someone else who changes the global precision inside a draw makes it wider, not wrong."""
    law = KNormNoise((1,), (2**40,))
    real = drawing.laplace
    calls = []

    def disturbed(a, first, places):
        calls.append(ctx.prec)
        ctx.prec = 24 if len(calls) < 3 else ctx.prec
        return real(a, first, places)

    for seed in range(20):
        at_once = drawn(law, Tape(seed, 2), 1024, monkeypatch)
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr(drawing, "laplace", disturbed)
            assert drawn(law, Tape(seed, 2), 128, patch) == at_once
        assert len(calls) >= 3


def test_threads_draw_at_the_same_time():
    """Draws in eight threads, each with its own tape, are those of one thread."""

    def draw(seed: int) -> int:
        def values(a):
            scale = a.integers((2**40,))
            return lambda places: scale[places] * drawing.laplace(a, 0, places)

        return drawing.draw_array(values, 2, 1, Tape(seed, 2), 8)[0]

    found: dict[int, int] = {}

    def work(seeds: range) -> None:
        for seed in seeds:
            found[seed] = draw(seed)

    threads = [
        threading.Thread(target=work, args=(range(start, start + 25),)) for start in range(0, 200, 25)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {seed: draw(seed) for seed in range(200)}
