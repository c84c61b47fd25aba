"""Guarantees: exact arithmetic, refusals by their words, splitting that adds up again."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda.errors import ParameterError
from dpfda.numerics.parameters import exact
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    guarantee_for,
    split,
)


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (0.1, Fraction(1, 10)),
            ("0.1", Fraction(1, 10)),
            (Decimal("0.1"), Fraction(1, 10)),
            (np.float64(0.1), Fraction(1, 10)),
            (np.int64(3), Fraction(3)),
            (2, Fraction(2)),
            (Fraction(1, 3), Fraction(1, 3)),
            ("1/3", Fraction(1, 3)),
            (1e-300, Fraction(1, 10**300)),
        ],
    )
    def test_are_read_as_their_writer_saw_them(self, value: Any, expected: Fraction) -> None:
        assert exact(value, "epsilon") == expected

    def test_ten_tenths_are_one(self) -> None:
        assert sum(PureDP(0.1).epsilon for _ in range(10)) == 1

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (math.nan, "epsilon must be finite; found nan"),
            (math.inf, "epsilon must be finite; found inf"),
            (-math.inf, "epsilon must be finite; found -inf"),
            (np.float64("nan"), "epsilon must be finite; found nan"),
            (Decimal("NaN"), "epsilon must be a finite number"),
            (Decimal("Infinity"), "epsilon must be a finite number"),
            ("abc", "epsilon must be a finite number; found 'abc'"),
            ("nan", "epsilon must be a finite number; found 'nan'"),
            ("1/0", "epsilon must be a finite number; found '1/0'"),
            (None, "epsilon must be a finite number; found None"),
            ([1.0], r"epsilon must be a finite number; found \[1\.0\]"),
            (1j, "epsilon must be a number"),
            (True, "epsilon must be a number; found True"),
            (np.bool_(True), "epsilon must be a number"),
            (np.array([1.0, 2.0]), "epsilon must be a number"),
        ],
    )
    def test_other_things_are_refused(self, value: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            exact(value, "epsilon")


class TestKinds:
    @pytest.mark.parametrize("epsilon", [0, 0.0, -1, "-0.5"])
    def test_epsilon_is_positive(self, epsilon: Any) -> None:
        words = "epsilon must be positive; found .*Smaller epsilon is more private"
        for make in (PureDP, lambda e: ApproximateDP(e, 1e-6), guarantee_for):
            with pytest.raises(ParameterError, match=words):
                make(epsilon)

    @pytest.mark.parametrize("delta", [1, 1.5, -1, "-1e-9"])
    def test_delta_is_a_probability(self, delta: Any) -> None:
        with pytest.raises(ParameterError, match="delta must lie strictly between 0 and 1; found"):
            guarantee_for(1.0, delta)

    def test_rho_is_positive(self) -> None:
        with pytest.raises(ParameterError, match="rho must be positive; found 0"):
            ZeroConcentratedDP(0)

    def test_delta_zero_is_pure(self) -> None:
        assert guarantee_for(1, 0) == guarantee_for(1.0, 0.0) == PureDP(1)
        assert guarantee_for(1, "1e-6") == ApproximateDP(1, Fraction(1, 10**6))

    def test_they_print_themselves(self) -> None:
        assert str(PureDP(0.5)) == "0.5-differential privacy (pure)"
        assert str(ApproximateDP(0.5, 1e-6)) == "(0.5, 1e-06)-differential privacy"
        assert str(ZeroConcentratedDP("0.125")) == "0.125-zero-concentrated differential privacy"

    def test_they_do_not_change(self) -> None:
        with pytest.raises(AttributeError, match="cannot assign"):
            PureDP(1).epsilon = Fraction(2)  # type: ignore[misc]


class TestNeighbours:
    def test_differences(self) -> None:
        assert Neighbours.REPLACE_ONE.differences(7) == 14
        assert Neighbours.ADD_REMOVE.differences(7) == 7

    @pytest.mark.parametrize("value", ["replace", "", None, 1])
    def test_unknown_relations_are_refused(self, value: Any) -> None:
        with pytest.raises(
            ParameterError, match="neighbours must be 'replace-one' or 'add-remove'; found"
        ):
            Neighbours.parse(value)

    def test_words_say_what_is_public(self) -> None:
        assert (
            "differ in one person (the number of persons is public)"
            in Neighbours.REPLACE_ONE.describe("person")
        )
        assert "one person more (the number of persons is private)" in Neighbours.ADD_REMOVE.describe(
            "person"
        )


numbers = st.fractions(min_value=Fraction(1, 10**6), max_value=1000)
shares = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100))


class TestSplit:
    @given(numbers, shares)
    def test_pure_parts_add_up(self, epsilon: Fraction, share: Fraction) -> None:
        part, rest = split(PureDP(epsilon), share)
        assert isinstance(rest, PureDP)
        assert part.epsilon + rest.epsilon == epsilon
        assert part.epsilon == share * epsilon

    @given(numbers, shares)
    def test_approximate_parts_add_up(self, epsilon: Fraction, share: Fraction) -> None:
        part, rest = split(ApproximateDP(epsilon, Fraction(1, 10**6)), share)
        assert isinstance(rest, ApproximateDP)
        assert part.epsilon + rest.epsilon == epsilon
        assert rest.delta == Fraction(1, 10**6)

    @given(numbers, shares)
    def test_concentrated_parts_never_exceed_the_whole(self, rho: Fraction, share: Fraction) -> None:
        part, rest = split(ZeroConcentratedDP(rho), share)
        assert isinstance(rest, ZeroConcentratedDP)
        # A pure epsilon costs epsilon^2 / 2.
        assert part.epsilon**2 / 2 + rest.rho <= rho
        assert part.epsilon**2 / 2 <= share * rho
        assert math.isclose(part.epsilon**2 / 2, share * rho, rel_tol=1e-6)
