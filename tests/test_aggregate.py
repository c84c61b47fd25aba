"""The exact sum: any partition, any order, any size gives the same integers, and no way to look."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpfda.errors import DpfdaError
from dpfda.numerics.aggregate import IntegerSum

LARGEST = 2**31 - 1


def revealed(total: IntegerSum, components: int) -> tuple[int, ...]:
    """What a release of noise zero would show."""
    return total.with_noise([0] * components)


matrices = hnp.arrays(
    np.int64,
    st.tuples(st.integers(1, 12), st.integers(1, 4)),
    elements=st.one_of(st.integers(-LARGEST, LARGEST), st.sampled_from([-LARGEST, LARGEST])),
)


@settings(deadline=None)
@given(rows=matrices, data=st.data())
def test_any_partition_in_any_order_gives_the_same_integers(rows, data):
    count, components = rows.shape
    order = data.draw(st.permutations(range(count)))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    sums = [IntegerSum(components) for _ in range(4)]
    for row, part in zip(order, parts, strict=True):
        sums[part].add(rows[row : row + 1])
    merged = IntegerSum(components)
    for part in data.draw(st.permutations(range(4))):
        merged.merge(sums[part])
    expected = tuple(sum(int(entry) for entry in column) for column in rows.T)
    assert revealed(merged, components) == expected
    assert merged.count_with_noise(0, 1) == count
    assert revealed(IntegerSum(components).add(rows), components) == expected


def test_totals_beyond_64_bits_are_exact():
    total = IntegerSum(2).add(np.array([[LARGEST, -LARGEST]] * 3))
    for _ in range(80):
        other = IntegerSum(2).merge(total)
        total.merge(other)
    expected = 3 * LARGEST * 2**80
    assert revealed(total, 2) == (expected, -expected)
    assert total.count_with_noise(0, 1) == 3 * 2**80


def test_a_block_of_the_largest_entries_does_not_overflow():
    total = IntegerSum(1).add(np.full((2**16, 1), LARGEST))
    assert revealed(total, 1) == (2**16 * LARGEST,)


def test_noise_is_added_to_leading_components_and_count():
    total = IntegerSum(3).add(np.array([[1, 2, 3], [10, 20, 30]]))
    assert total.with_noise([100, -7]) == (111, 15)
    assert total.count_with_noise(5, 1000) == 2005
    # Taking a release does not change the sum.
    assert revealed(total, 3) == (11, 22, 33)


def test_more_noise_than_components_is_an_error():
    with pytest.raises(DpfdaError, match="3 noise values for 2 components"):
        IntegerSum(2).with_noise([1, 2, 3])


def test_sums_of_different_width_do_not_merge():
    with pytest.raises(ValueError, match="zip"):
        IntegerSum(2).merge(IntegerSum(3))


SECRET = 271828182


@pytest.mark.parametrize("write", [repr, str, "{}".format, "{!r}".format, "%s".__mod__])
def test_it_does_not_print_its_content(write):
    written = write(IntegerSum(2).add(np.array([[SECRET, SECRET]])))
    assert "content private" in written
    assert str(SECRET) not in written


@pytest.mark.parametrize(
    "leave",
    [
        pickle.dumps,
        lambda total: pickle.dumps(total, protocol=0),
        copy.copy,
        copy.deepcopy,
        lambda total: copy.deepcopy({"sum": [total]}),
    ],
)
def test_it_does_not_pickle_or_copy(leave):
    with pytest.raises(DpfdaError, match="private and cannot be pickled or copied"):
        leave(IntegerSum(1))


@pytest.mark.parametrize("look", [json.dumps, list, len, vars, np.float64, sorted])
def test_it_is_no_container_and_has_no_dictionary(look):
    with pytest.raises(TypeError):
        look(IntegerSum(1))
