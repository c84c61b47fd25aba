"""What passes between the estimator of running means, the open months, and their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from dpfda.bases import Basis
from dpfda.mean.running.plan import Rows, RunningPlan
from dpfda.numerics.private import Private
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Paying
from dpfda.publication.session.journal import Record
from dpfda.spine.settings import Settings
from dpfda.spine.sums import Readable

FORMAT = "dpfda-running-mean-state"
WARNING = (
    "SECRET: this file may hold exact sums of private data. Whoever reads it can undo the privacy "
    "protection. Do not copy, share or back it up."
)
# A sum or a noisy sum is written with 256 bits and a sign, whatever it is.
WIDTH = 65


@dataclass(frozen=True, eq=False, repr=False)
class Month:
    """The records of one month. Private, but for basis, settings and the number of units.

    records: Read and checked.
    units: How many there are.
    """

    records: Readable
    units: int
    basis: Basis
    settings: Settings


class Estimator(Protocol):
    """What is asked of `PrivateRunningMean`."""

    steps: int

    @property
    def bounded(self) -> Mapping[str, object]:
        """The public bound."""

    def asked(self) -> Guarantee:
        """The guarantee that is asked for."""

    def paying(self) -> Paying:
        """The ledger and the data set in it."""

    def stated(self) -> dict[str, object]:
        """What is public before there is a first month."""

    def month(self, X: object, groups: object, basis: Basis | None) -> Month:
        """The records of a month."""

    def planned(self, basis: Basis, n: int, settings: Settings, rows: Rows | None = None) -> RunningPlan:
        """The plan on a basis."""

    @property
    def settings(self) -> Settings:
        """Domain, unit and reading."""


@dataclass(frozen=True, eq=False, repr=False)
class Row(Private):
    """A month that was published.

    units: Their number. Public.
    noisy: The row with its noise. Public.
    total: Exact sums of the month; empty where no later row needs them. Secret.
    created: The day on which it was published. Public.
    """

    units: int
    noisy: tuple[int, ...]
    total: tuple[int, ...]
    created: str

    def to_json(self, month: int) -> Record:
        """The record of a month, as long for every value. Secret."""
        told = {
            name: [f"{value:+0{WIDTH}x}" for value in values]
            for name, values in (("noisy", self.noisy), ("total", self.total))
        }
        return {"month": month, "units": self.units, "created": self.created, **told}

    @classmethod
    def from_json(cls, record: Record) -> Self:
        """The month again."""
        noisy, total = (tuple(int(v, 16) for v in record[name]) for name in ("noisy", "total"))
        return cls(int(record["units"]), noisy, total, str(record["created"]))


def weighed(weights: Sequence[int], rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The sum of rows, each times its weight, exactly."""
    columns = zip(*rows, strict=True)
    return tuple(sum(w * v for w, v in zip(weights, column, strict=True)) for column in columns)
