"""The months that are open: charge once for all, then publish one after the other from a secret file.

**Crashes.** A month's exact sums and its noisy row are one record, which is on the disk before anything
of them is shown. A process that is killed before that has shown nothing: its noise is lost, the month is
drawn anew, and nobody has seen two rows of one month. A process that is killed later has published the
month: called for it again, with whatever data, it answers with the release in the file, without a draw.
The length of a record depends neither on sums nor on noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.mean.running.plan import Rows, RunningPlan
from dpfda.mean.running.release import ReleasedRunningMean
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DpfdaError, ParameterError, Private, SessionError
from dpfda.numerics.parameters import flag, known, whole
from dpfda.numerics.words import so_many
from dpfda.privacy.certificates import Certificate, certificate_from_json, certificate_to_json
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.privacy.ledger.named import Paying
from dpfda.publication import charge, stamp
from dpfda.publication.session.journal import Journal, Record
from dpfda.publication.session.records import Resumable, checked_header, sealed, take_over, undamaged
from dpfda.releases.promise import ALL
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

    def _paying(self) -> Paying:
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
        numbers = {
            name: [f"{value:+0{WIDTH}x}" for value in values]
            for name, values in (("noisy", self.noisy), ("total", self.total))
        }
        return {"month": month, "units": self.units, "created": self.created, **numbers}

    @classmethod
    def from_json(cls, record: Record) -> Self:
        """The month again."""
        noisy, total = (tuple(int(v, 16) for v in record[name]) for name in ("noisy", "total"))
        return cls(int(record["units"]), noisy, total, str(record["created"]))


def weighed(weights: Sequence[int], rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The sum of rows, each times its weight, exactly."""
    columns = zip(*rows, strict=True)
    return tuple(sum(w * v for w, v in zip(weights, column, strict=True)) for column in columns)


def first_typed(path: Path, moved: bool) -> dict[str, object]:
    """Options of the first month, as `Months.open` kept them; none in files of earlier versions.

    moved: As in `PrivateRunningMean.resume`.
    Raises SessionError or StorageError as `Months.resume` does.
    """
    journal, records = Journal.open(path)
    with undamaged(journal):
        typed = dict(checked_header(records, journal, moved, FORMAT).get("typed", {}))
    journal.close()
    return typed


def other_parameters(other: str) -> ParameterError:
    """Refusal of parameters that are not those of the file."""
    words = "be those that the file was opened with"
    remedy = "Open another file, which is charged as one, or resume with the same parameters."
    return ParameterError("The parameters", words, other, remedy)


class Months(Resumable):
    """Months that are published one after the other, at a price that was charged at once.

    Made by `PrivateRunningMean.open`, or by `resume` from the file. In a ``with`` statement it is
    suspended at the end.

    Attributes
    ----------
    path : Path
        Its file. **Secret**.
    release_ : ReleasedRunningMean
        Of the last month that was published.
    certificate : Certificate
        What was promised and charged for all months together. Public.
    """

    certificate: Certificate

    def __init__(
        self, estimator: Estimator, journal: Journal, certificate: Certificate, stated: object
    ) -> None:
        super().__init__(journal)
        self.certificate = certificate
        self._estimator = estimator
        # What was charged for: an estimator can be changed at any time.
        self._stated = stated
        self._check_stated()
        self._plan: RunningPlan | None = None
        self._frame: ReleasedRunningMean | None = None
        self._rows: list[Row] = []

    @classmethod
    def open(
        cls,
        estimator: Estimator,
        path: str | Path,
        plan: RunningPlan | None,
        typed: Mapping[str, object] | None = None,
    ) -> Self:
        """Charge for all months, and make the file; see `PrivateRunningMean.open`.

        typed: Options of the first month, to be kept for the others. Public.
        """
        stated = estimator.stated()
        costs = {ALL: Cost(estimator.asked())} if plan is None else plan.costs()
        certificate = Certificate.charged(
            costs,
            Neighbours.parse(stated["neighbours"]),
            str(stated["privacy_unit"]),
            estimator.bounded,
            {"name": stated["mechanism"]},
        )
        journal = Journal.create(path)
        try:
            written = {**stated, "guarantee": str(estimator.asked())}
            charge(estimator._paying(), certificate, stated)
            months = cls(estimator, journal, certificate, written)
            header: Record = {
                "format": FORMAT,
                "schema_version": 1,
                "warning": WARNING,
                "origin": journal.origin(),
                "stated": written,
                "certificate": certificate_to_json(certificate),
                "typed": dict(typed or {}),
            }
            journal.append([header])
            if plan is not None:
                months._frame_kept(plan)
        except BaseException:
            journal.discard()
            raise
        return months

    @classmethod
    def resume(cls, estimator: Estimator, path: str | Path, moved: bool = False) -> Self:
        """Go on from the file; see `PrivateRunningMean.resume`."""
        flag(moved, "moved")
        return sealed(lambda: cls._resumed(estimator, path, moved))

    @classmethod
    def _resumed(cls, estimator: Estimator, path: str | Path, moved: bool) -> Self:
        journal, records = Journal.open(path)
        with undamaged(journal, DpfdaError):
            header = checked_header(records, journal, moved, FORMAT)
            certificate = certificate_from_json(header["certificate"])
            months = cls(estimator, journal, certificate, header["stated"])
            for record in records[1:]:
                months._replay(record)
            take_over(journal, records)
        return months

    def _check_stated(self) -> None:
        own = {**self._estimator.stated(), "guarantee": str(self._estimator.asked())}
        bound = {**self._estimator.bounded}
        if self._stated != own or bound != dict(self.certificate.bound):
            stated = self._stated if isinstance(self._stated, dict) else {}
            other = [
                f"{name} {value!r} in the place of {stated.get(name)!r}"
                for name, value in own.items()
                if stated.get(name) != value
            ] or ["another bound"]
            raise other_parameters(" and ".join(other))

    def _replay(self, record: Record) -> None:
        if "frame" in record:
            frame = ReleasedRunningMean.from_json(record["frame"])
            rows = Rows(frame.factorisation, frame.cells, frame.row_law)
            plan = self._estimator.planned(frame.basis, record["units"], self._estimator.settings, rows)
            if self._plan is not None or (frame.steps, frame.most) != (plan.steps, plan.most):
                raise ValueError("a second frame, or one of other months")
            self._plan, self._frame, self.certificate = plan, frame, frame.certificate
        elif "month" in record:
            row, following = Row.from_json(record), self.published + 1
            if self._plan is None or record["month"] != following or following > self._plan.steps:
                raise ValueError("a month without its plan, or out of its place")
            law, own = self._plan.chosen.law, self._plan.chosen.factorisation.own
            if len(row.noisy) != law.components or len(row.total) not in {0 if own else law.components}:
                raise ValueError("a month with other sums")
            self._rows.append(row)

    # Publishing.

    @property
    def plan(self) -> RunningPlan | None:
        """What gets noise of which law. Public; None before the first month where `n` was not given."""
        return self._plan

    @property
    def published(self) -> int:
        """Number of months that were published. Public."""
        return len(self._rows)

    def publish(self, X: object, groups: object = None, month: int | None = None) -> ReleasedRunningMean:
        """Publish the next month.

        Parameters
        ----------
        X, groups
            As in `PrivateMean.fit`, of the curves of this month. Private.
        month : int, optional
            Its number, from 1. One that was published already has the release that it had, and nothing
            of X is read: so a program that was cut short can ask again.

        Returns
        -------
        ReleasedRunningMean
            The mean of all months so far; its `latest` is that of this month alone.

        Raises
        ------
        ParameterError
            If the month is not the next one, or all that were paid for have been published.
        DataError
            If the data cannot be used as they are; nothing was drawn.
        SessionError, StorageError
            If the file is not the one that was opened, or cannot be written: resume from it.
        """
        with self._lock:
            self._check_open()
            number = self._number(month)
            if number <= self.published:
                return self.release(number)
            self._check_stated()
            self._journal.check()
            # Whether arithmetic overflows depends on values: it may neither warn nor raise.
            with np.errstate(all="ignore"):
                read = sealed(lambda: self._read(X, groups))
            if number != self.published + 1:
                raise SessionError("A month was published while another was read. Publish it again.")
            try:
                sealed(lambda: self._draw(read))
            except BaseException:
                # What was drawn may or may not be on the disk; only the file knows.
                self.suspend()
                raise
            return self.release_

    def _number(self, month: int | None) -> int:
        following, steps = self.published + 1, self._estimator.steps
        if month is None or month == following:
            if following > steps:
                words = f"be called for the {so_many(steps, 'month')} that were paid for"
                remedy = "Open another file, which is charged as one."
                raise ParameterError("publish", words, "one more", remedy)
            return following
        words = f"be one that was published, or the next, {following}"
        return whole(month, "month", 1, following, words)

    def _read(self, X: object, groups: object) -> tuple[Month, IntegerSum]:
        """Read a month, and add it up under the plan, which the first month makes."""
        basis = None if self._frame is None else self._frame.basis
        month = self._estimator.month(X, groups, basis)
        if self._plan is None:
            self._frame_kept(self._estimator.planned(month.basis, month.units, month.settings))
        return month, month.records.total(known(self._plan).month(month.units))

    def _draw(self, read: tuple[Month, IntegerSum]) -> None:
        """Draw the noise of the next row; row and sums go to the disk before anything is shown."""
        (month, total), plan = read, known(self._plan)
        law, factors = plan.chosen.law, plan.chosen.factorisation
        exact = total.with_noise([0] * law.components)
        sums = [*(row.total for row in self._rows), exact]
        secret: tuple[int, ...] = ()
        if factors.own:
            noisy = total.with_noise(law.draw())
        else:
            row = weighed(factors.row(len(sums)), sums)
            noisy, secret = IntegerSum.of(row).with_noise(law.draw()), exact
        drawn = Row(month.units, noisy, secret, str(stamp()["created"]))
        self._journal.append([drawn.to_json(len(sums))])
        self._rows.append(drawn)

    def _frame_kept(self, plan: RunningPlan) -> None:
        """Write what all releases have in common; it is in force once it is on the disk."""
        frame = self._framed(plan).to_json()
        again = ReleasedRunningMean.from_json(frame)
        self._journal.append([{"frame": frame, "units": plan.size}])
        self._plan, self._frame, self.certificate = plan, again, again.certificate

    def _framed(self, plan: RunningPlan) -> ReleasedRunningMean:
        """All that the releases have in common: made before the first noise, and checked."""
        design, mean, law = plan.row, plan.one, plan.chosen.noise(1, False)[0]
        measurement = known(design.measurement)
        costs = plan.costs()
        drawn = None if costs[ALL] == self.certificate.costs[0] else costs
        bounded = dict(self.certificate.bound)
        certificate = self.certificate.fulfilled(plan.achieved(), plan.tuning, bounded, drawn)
        factors = plan.chosen.factorisation
        exponent = measurement.exponent + factors.shift
        return ReleasedRunningMean(
            mean.basis, (0,) * law.components, exponent, float(plan.size or 1),
            design.shrinkage, mean.bound.center_on(flat_grid(mean.basis)), law, certificate,
            {**mean.about, **stamp()}, measurement.synthesis, design.hierarchy,
            months=(1, 1), steps=plan.steps, most=plan.most, column=factors.column,
        )  # fmt: skip

    # What is released.

    @property
    def release_(self) -> ReleasedRunningMean:
        """Of the last month that was published."""
        return self.release(self.published)

    def release(self, month: int) -> ReleasedRunningMean:
        """The release of a month that was published.

        Parameters
        ----------
        month : int
            From 1.

        Raises
        ------
        ParameterError
            If it was not published.
        """
        words = f"be one of the {self.published} that were published"
        last = whole(month, "month", 1, self.published, words)
        return replace(self._made(last, running=True), latest=self._made(last, running=False))

    def _made(self, month: int, running: bool) -> ReleasedRunningMean:
        """A mean as the rows up to a month have it; post-processing."""
        plan, frame = known(self._plan), known(self._frame)
        noise, weights = plan.chosen.noise(month, running)
        noisy = weighed(weights, [row.noisy for row in self._rows[:month]])
        numbers = [row.units for row in self._rows[:month]]
        units = sum(numbers) if running else numbers[-1]
        factors = plan.chosen.factorisation
        design = plan.seen(noise, units, factors.shift)
        return replace(
            frame,
            noisy_sum=noisy,
            divisor=float(units),
            noise=noise,
            synthesis=known(design.measurement).synthesis,
            months=(1 if running else month, month),
            about={**frame.about, "created": self._rows[month - 1].created},
        )

    # Its file.

    def _forget(self, state: str) -> None:
        self._rows = [replace(row, total=()) for row in self._rows]
        self._state = state

    def __repr__(self) -> str:
        own = self.certificate
        lines = {
            "guarantee": f"{own.guarantee}, for all {self._estimator.steps} months together",
            "neighbours": own.neighbours.describe(own.unit),
            "bound": own.bound["description"],
            "published": so_many(self.published, "month"),
            "secret state": str(self.path),
        }
        return "\n".join([f"Months, {self._state}", *(f"  {k + ':':<14}{v}" for k, v in lines.items())])

    def _check_open(self) -> None:
        self._journal.check_process()
        if self._state != "open":
            remedy = "" if self._state == "closed" else f" Resume them from {str(self.path)!r}."
            raise SessionError(f"The months are {self._state}.{remedy}")
