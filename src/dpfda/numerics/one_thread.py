"""BLAS in one thread, for many small problems: several threads mostly wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

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
