"""Odd values for public arguments, and what is wrong with an answer to one."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from dpfda.errors import DpfdaError


class Word(str):
    """Text of another type."""

    __slots__ = ()


class Number(float):
    """A number of another type."""

    __slots__ = ()


POOL: dict[str, Any] = {
    "None": None,
    "-1": -1,
    "0": 0,
    "1": 1,
    "True": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1e-320": 1e-320,
    "1e-160": 1e-160,
    "1e160": 1e160,
    "1e300": 1e300,
    "1e13": 1e13,
    "10**13": 10**13,
    "10**400": 10**400,
    "-(10**400)": -(10**400),
    "1/10**400": Fraction(1, 10**400),
    "5": 5,
    "2.5": 2.5,
    "1j": 1j,
    "'x'": "x",
    "''": "",
    "'1'": "1",
    "NUL": "a\0b",
    "surrogate": "\ud800",
    "b'x'": b"x",
    "[]": [],
    "()": (),
    "{}": {},
    "set": {1, 2},
    "object": object(),
    "type": float,
    "lambda": lambda *_: None,
    "(0, 1)": (0, 1),
    "(1, 0)": (1, 0),
    "(nan, 1)": (float("nan"), 1),
    "(10**400, 1)": (10**400, 1),
    "('a', 'b')": ("a", "b"),
    "nested": [[1, 2], [3]],
    "empty array": np.array([]),
    "scalar array": np.array(2.0),
    "one entry": np.array([1.0]),
    "three": np.array([1.0, 2.0, 3.0]),
    "matrix": np.ones((2, 3)),
    "cube": np.zeros((1, 2, 3)),
    "objects": np.array([None, "a"], dtype=object),
    "text array": np.array(["a", "b"]),
    "complex array": np.array([1j, 2]),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "np.int64": np.int64(3),
    "np.float32": np.float32(0.3),
    "np.bool": np.bool_(True),
    "date": np.datetime64("2026-01-01"),
    "{'domain': 1}": {"domain": 1},
    "{1: 'a'}": {1: "a"},
    "number in text": "1e999999999",
    "Decimal": Decimal("1e999999999"),
    "Decimal sNaN": Decimal("sNaN"),
    "text subclass": Word("gaussian"),
    "float subclass": Number(0.5),
}
SECONDS = 2.0


class TooSlowError(BaseException):
    """No library code may catch it as an error of its own."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Stop what computes for longer, wherever it is."""

    def stop(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def complaint(
    call: Callable[[Any], Any], odd: Any, allowed: tuple[type[Exception], ...] = ()
) -> str | None:
    """What is wrong with the answer to an odd value; None where nothing is."""
    start = time.process_time()
    try:
        with at_most(2 * SECONDS):
            call(odd)
    except TooSlowError as error:
        return f"stopped after {2 * SECONDS:g} s [{_place(error)}]"
    except (DpfdaError, NotFittedError, *allowed):
        pass
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:90]} [{_place(error)}]"
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    taken = time.process_time() - start
    return f"took {taken:.1f} s" if taken > SECONDS else None


def _place(error: BaseException) -> str:
    """The innermost lines of the library, and of what it called, in the traceback."""
    place, lines = error.__traceback__, []
    while place is not None:
        lines.append((place.tb_frame.f_code.co_filename, place.tb_lineno))
        place = place.tb_next
    own = [line for line in lines if "/dpfda/" in line[0]][-1:]
    return ", ".join(f"{Path(name).name}:{number}" for name, number in dict.fromkeys([*own, lines[-1]]))
