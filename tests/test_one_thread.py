"""BLAS is held to one thread while someone is inside, and afterwards has as many as before."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

from dpfda import PrivateMean
from dpfda.numerics.speed import one_thread
from dpfda.publication import means


def threads() -> set[int]:
    # Both libraries are in use.
    np.linalg.eigvalsh(scipy.linalg.eigh(np.eye(2))[1])
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_who_was_inside_gives_the_threads_back() -> None:
    with threadpool_limits(2, "blas"):
        before = threads()
        with one_thread():
            assert threads() == {1}
            with one_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == before
        with pytest.raises(ZeroDivisionError), one_thread():
            1 / 0  # noqa: B018
        assert threads() == before


def test_plans_are_made_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(*arguments: object) -> None:
        seen.append(threads())
        raise ZeroDivisionError

    plan = PrivateMean(1.0, bounds=(0, 1), mechanism="laplace").plan(50, 8)
    monkeypatch.setattr(means, "expected_error", watched)
    with pytest.raises(ZeroDivisionError):
        plan.expected_error()
    assert seen == [{1}]


def test_a_library_that_is_loaded_inside_has_one_thread_too() -> None:
    """NumPy and SciPy each bring a BLAS, and that of SciPy is loaded when it is first needed."""
    code = (
        "from dpfda.numerics.speed import one_thread\n"
        "with one_thread():\n"
        "    import numpy as np, scipy.linalg\n"
        "    np.linalg.eigvalsh(scipy.linalg.eigh(np.eye(2))[1])\n"
        "    from threadpoolctl import threadpool_info\n"
        "    print({each['num_threads'] for each in threadpool_info() if each['user_api'] == 'blas'})\n"
    )
    given = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{1}\n"
