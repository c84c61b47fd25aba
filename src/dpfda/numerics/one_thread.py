"""BLAS in one thread, for many small problems: several threads mostly wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
_inside = 0
_limit = ExitStack()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread, in the whole process, until the last of those inside has left.

    Some builds of OpenBLAS then keep the one thread, where another thread was the first to enter.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    global _inside  # noqa: PLW0603
    with _LOCK:
        _inside += 1
        if _inside == 1:
            _limit.enter_context(_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if _inside == 0:
                _limit.close()


@cache
def _controller() -> ThreadpoolController:
    # NumPy and SciPy may each bring a BLAS: both must be loaded to be found. Finding them takes time.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
