"""SciPy, loaded when one of its parts is first asked for."""

from typing import Any


def __getattr__(part: str) -> Any:
    import scipy

    return getattr(scipy, part)
