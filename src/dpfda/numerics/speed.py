"""What makes public computations fast: results that a process remembers, and BLAS in one thread.

For functions of public numbers alone: whoever measures time learns whether the same arguments were there
before. What is remembered is shared, so its arrays become read-only.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache, partial, wraps
from importlib import import_module
from struct import pack
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Calls whose arguments have more bytes than this are not remembered: results are as large, or larger.
LARGEST = 2**22
_PLAIN = frozenset((type(None), bool, int, str, bytes, Fraction))
# Classes of one's own may hold more than their fields say.
_KNOWN = ("dpfda.", "sklearn.gaussian_process.kernels")


class _UnknownError(TypeError):
    """An argument whose content is not known, such as a function."""


@dataclass(frozen=True)
class _Call(Generic[Result]):
    content: bytes
    made: Callable[[], Result] = field(compare=False)


def remembered(calls: int) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Remember the results of so many calls of a pure function of public arguments.

    Arguments may be numbers, words, arrays, dataclasses of this package, scikit-learn's kernels, and
    tuples, lists and dictionaries of them; a call with another one is made anew every time. Numbers are
    told apart by type and by every bit.

    Examples
    --------
    >>> @remembered(4)
    ... def double(x):
    ...     print("computed")
    ...     return 2 * x
    >>> double(np.arange(2.0)).tolist(), double(np.arange(2.0)).tolist()
    computed
    ([0.0, 2.0], [0.0, 2.0])
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @lru_cache(calls)
        def make(call: _Call[Result]) -> Result:
            result = call.made()
            _freeze(result)
            return result

        @wraps(function)
        def answer(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            try:
                content = _digest((arguments, named))
            except _UnknownError:
                return function(*arguments, **named)
            return make(_Call(content, partial(function, *arguments, **named)))

        return answer

    return decorate


def _digest(arguments: object) -> bytes:
    parts: list[bytes] = []
    _write(arguments, parts)
    content = b"".join(parts)
    if len(content) > LARGEST:
        raise _UnknownError
    return hashlib.blake2b(content, digest_size=32).digest()


def _write(value: Any, parts: list[bytes]) -> None:
    """Write the content of an argument, without ambiguity: every part states its kind and its length."""
    kind = type(value)
    if kind in _PLAIN:
        written = repr(value).encode()
        parts.append(f"{kind.__name__} {len(written)} ".encode() + written)
    elif kind is float:
        parts.append(b"float " + pack("d", value))
    elif kind is tuple or kind is list or kind is dict:
        parts.append(f"{kind.__name__} {len(value)} ".encode())
        if kind is not dict and all(type(entry) is int for entry in value):
            parts.append(repr(value).encode())
            return
        for entry in value.items() if kind is dict else value:
            _write(entry, parts)
    elif kind is np.ndarray and value.dtype.kind in "biuf":
        if value.nbytes > LARGEST:
            raise _UnknownError
        parts.append(f"array {value.dtype.str} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, np.generic) and kind.__module__ == "numpy" and value.dtype.kind in "biuf":
        parts.append(f"{kind.__name__} ".encode() + value.tobytes())
    elif (name := _name(kind)) is not None:  # type: ignore[arg-type]
        parts.append(name)
        _write(_fields(value), parts)
    elif isinstance(value, type) and (name := _name(value)) is not None:
        parts.append(b"class " + name)
    else:
        raise _UnknownError


@lru_cache
def _name(kind: type[object]) -> bytes | None:
    """A class by its name, where all that it holds is in its fields."""
    if not kind.__module__.startswith(_KNOWN):
        return None
    return f"{kind.__module__}.{kind.__qualname__} ".encode()


@lru_cache
def _names(kind: type[object]) -> tuple[str, ...] | None:
    return tuple(entry.name for entry in fields(kind)) if is_dataclass(kind) else None


def _fields(value: object) -> object:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return tuple(value)
    if (names := _names(type(value))) is not None:  # type: ignore[arg-type]
        return [getattr(value, name) for name in names]
    if hasattr(value, "get_params"):
        return value.get_params(deep=False)
    raise _UnknownError


def _freeze(value: object) -> None:
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple | list):
        for entry in value:
            _freeze(entry)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            _freeze(getattr(value, entry.name))


_LOCK = threading.Lock()
_inside, _both = 0, False
_limit = ExitStack()


@contextmanager
def one_thread(scipy: bool = True) -> Iterator[None]:
    """Hold BLAS to one thread, in the whole process, until the last of those inside has left.

    Some builds of OpenBLAS then keep the one thread, where another thread was the first to enter.

    scipy: Whether SciPy's is loaded and held, too. Loading it takes longer than a small plan.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    global _inside, _both  # noqa: PLW0603
    with _LOCK:
        _inside += 1
        if _inside == 1 or (scipy and not _both):
            _both = scipy
            _limit.enter_context(_controller(scipy).limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if _inside == 0:
                _limit.close()


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    # NumPy and SciPy may each bring a BLAS: both must be loaded to be found. Finding them takes time.
    if scipy:
        import_module("scipy.linalg")
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
