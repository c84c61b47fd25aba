"""Run a step that handles secrets so that what it raises carries none of its frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpfda.numerics.errors import DpfdaError, SessionError

T = TypeVar("T")


def sealed(step: Callable[[], T]) -> T:
    """The result of a step; an exception from it has no traceback, cause or context from inside.

    A traceback holds the local variables of every frame, and tools that report errors write them out.

    Raises SessionError: In place of any exception that is not dpfda's own. Its message is left out, for
    it may quote secrets. Interruptions keep their type.
    """
    try:
        return step()
    except BaseException as error:
        failure = _bare(error)
    raise failure from None


def _bare(error: BaseException) -> BaseException:
    if isinstance(error, Exception) and not isinstance(error, DpfdaError):
        return SessionError(
            f"The session failed: {type(error).__name__}. Where it happened is left out, for it holds "
            "secrets. Resume the session from its file."
        )
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
