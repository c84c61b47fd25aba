"""A ledger in memory: for one process, as long as it lives."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from dpfda.numerics.errors import LedgerError
from dpfda.privacy.ledger.base import AnyLedger
from dpfda.privacy.ledger.history import Record
from dpfda.privacy.ledger.rows import Rows

_REMEDY = "Use Ledger(path), which all processes share."


class MemoryLedger(AnyLedger):
    """Budgets in the memory of one process.

    Copies and clones are the same ledger. It cannot be pickled, nor used in a forked process: there
    it would be a second budget.

    Examples
    --------
    >>> from dpfda.privacy.guarantees import PureDP
    >>> ledger = MemoryLedger().create("scans", PureDP(1), unit="person")
    >>> release = {"neighbours": "replace-one", "privacy_unit": "person"}
    >>> row = ledger.charge("scans", PureDP("0.9"), release)
    >>> print(ledger.remaining("scans"))
    epsilon 0.1
    """

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._lock = threading.RLock()
        self._process = os.getpid()

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        if os.getpid() != self._process:
            raise LedgerError(
                "An in-memory ledger must be used in the process that made it; found another process. "
                + _REMEDY
            )
        with self._lock:
            yield _MemoryRows(self._records)

    @contextmanager
    def _writing(self, new: bool = False) -> Iterator[Rows]:
        with self._reading() as rows:
            kept = len(self._records)
            try:
                yield rows
            except BaseException:
                del self._records[kept:]
                raise

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LedgerError(
            "An in-memory ledger cannot be pickled: that would fork its budgets. " + _REMEDY
        )


class _MemoryRows:
    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def latest(self, dataset: str) -> Record | None:
        return next((r for r in reversed(self._records) if r.dataset == dataset), None)

    def records(self, dataset: str | None) -> list[Record]:
        return [r for r in self._records if dataset in (None, r.dataset)]

    def append(self, make: Callable[[int], Record]) -> Record:
        record = make(len(self._records) + 1)
        self._records.append(record)
        return record
