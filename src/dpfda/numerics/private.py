"""What holds records: its text shows none of them, and it does not leave the process by accident."""

from __future__ import annotations

from typing import NoReturn

from dpfda.numerics.errors import DpfdaError


class Private:
    """Base of what holds records: it says what it is and shows nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(content private)"


class Kept(Private):
    """Base of what holds records and stays where it is."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise DpfdaError(f"{name}: what it holds is private and cannot be pickled or copied.")
