"""What a ledger does, wherever its history is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Self

from dpfda.numerics.errors import BudgetError, IncompatibleChargeError, LedgerError, ParameterError
from dpfda.numerics.parameters import choice, path, shown, whole
from dpfda.numerics.words import so_many
from dpfda.privacy.composition import Charge, Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, checked_guarantee
from dpfda.privacy.ledger.accounts import Amount, Budget, checked_name
from dpfda.privacy.ledger.history import Charged, Record, audit, charges, releases, to_csv, to_json_lines
from dpfda.privacy.ledger.lines import row_text
from dpfda.privacy.ledger.rows import (
    DatasetLedger,
    Reservation,
    Rows,
    after,
    appended,
    asked_by,
    costs_of,
    latest_of,
    now,
    plain,
    unit_of,
)

LARGEST_RESERVATION = 10_000


class AnyLedger(ABC):
    """Budgets of data sets, and the history of what was charged to them.

    `charge` returns when the charge is committed and raises when nothing was charged; what fails
    afterwards stays charged. Copies are the same ledger.
    """

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Rows]:
        """Rows at one moment."""

    @abstractmethod
    def _writing(self, new: bool = False) -> AbstractContextManager[Rows]:
        """Rows that nobody else writes; committed on leaving, or nothing of it."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def create(
        self,
        dataset: str,
        guarantee: Guarantee,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        unit: str | None = None,
    ) -> Self:
        """Give a data set its budget; the same budget a second time changes nothing.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        guarantee : Guarantee
            All that may be spent on it.
        neighbours : {"replace-one", "add-remove"}
            Relation for which the budget is meant.
        unit : str, optional
            Who is protected, as releases name it: "record", or "group" where records are grouped, or
            the `unit` given to the estimator. By default that of the first release; all later ones are
            held to it.

        Returns
        -------
        self

        Raises
        ------
        LedgerError
            If the data set has another budget.
        ParameterError
            If an argument is unusable.
        """
        checked_name(dataset, "dataset")
        budget = Budget(guarantee, Neighbours.parse(neighbours), unit)
        nothing = Amount.zero(guarantee.kind)
        budget.amount.written()
        with self._writing(new=True) as rows:
            before = rows.latest(dataset)
            if before is None:
                rows.append(lambda n: Record(n, now(), dataset, "create", budget, nothing))
            elif budget not in (before.budget, replace(before.budget, unit=None)):
                raise LedgerError(
                    f"The data set {dataset!r} must keep its budget, {before.budget}; found another: "
                    f"{budget}. Use $raise_budget to enlarge it, which is recorded with a reason; its "
                    "unit is stated once, when it is created or by the first release."
                )
        return self

    def charge(
        self, dataset: str, costs: Guarantee | Cost | Sequence[Cost], entry: Mapping[str, object]
    ) -> Record:
        """Charge a release to a data set's budget, durably, or raise and charge nothing.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        costs : Guarantee, Cost or sequence of Cost
            What the release costs, one a stage: as its certificate says. A `Cost` says which noise it
            is, which a zero-concentrated budget is charged less for.
        entry : mapping
            Public description for the history. It must have 'neighbours' and 'privacy_unit'.

        Returns
        -------
        Record
            The row, committed.

        Raises
        ------
        BudgetError
            If the budget does not allow it.
        IncompatibleChargeError
            If its kind, neighbours or unit cannot be turned into the budget's.
        UnknownDatasetError
            If the data set has no budget.
        LedgerError
            If the ledger cannot be read or written. If it says that the commit failed, the charge
            may have been made; no noise may be drawn either way.
        """
        unit = unit_of(entry)
        with self._writing() as rows:
            return appended(rows, dataset, costs_of(costs), entry, unit)

    def foreseen(
        self, dataset: str, charges: Sequence[tuple[Sequence[Cost], Mapping[str, object]]]
    ) -> Amount:
        """What would be left after charges, each as in `charge`, or their refusal; nothing is written.

        Parameters
        ----------
        dataset : str
        charges : sequence of (sequence of Cost, mapping)
            Costs and entries, in the order of the releases.

        Raises
        ------
        BudgetError, IncompatibleChargeError, UnknownDatasetError, LedgerError
            As `charge` would.
        """
        if not isinstance(charges, list | tuple) or not all(
            isinstance(charge, tuple) and len(charge) == 2 and isinstance(charge[1], Mapping)
            for charge in charges
        ):
            raise ParameterError("charges", "be a list of costs with their entries", shown(charges))
        with self._reading() as rows:
            history = Rows((row_text(latest_of(rows, dataset).to_json()),))
            for costs, entry in charges:
                appended(history, dataset, costs_of(costs), entry, unit_of(entry))
            return latest_of(history, dataset).left

    def reserve(
        self,
        dataset: str,
        guarantee: Guarantee,
        times: int,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        unit: str | None = None,
    ) -> Reservation:
        """Charge several releases in advance, durably: all of them, or raise and charge nothing.

        For a search or a cross-validation, whose fits are releases of the same data set each. What it
        returns is given to the estimator in the place of this ledger.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        guarantee : Guarantee
            The most that one release may cost. That of an estimator is ``estimator.asked()``.
        times : int
            How many releases: candidates times folds, and one more where the search refits.
        neighbours : {"replace-one", "add-remove"}
            Of the releases.
        unit : str, optional
            Of the releases; by default the budget's, or that of its first release.

        Raises
        ------
        BudgetError
            If the budget does not carry all of them.

        Notes
        -----
        Rows that no release took stay charged: whether a process that died drew noise, no program can
        know. What fails before its charge (unusable parameters or data) takes no row.

        Examples
        --------
        >>> from dpfda.privacy.guarantees import PureDP
        >>> from dpfda.privacy.ledger import MemoryLedger
        >>> ledger = MemoryLedger().create("scans", PureDP(1))
        >>> ledger.reserve("scans", PureDP("0.1"), times=5)
        Reservation(5 of 5 left, each of at most 0.1-differential privacy (pure))
        >>> print(ledger.remaining("scans"))
        epsilon 0.5
        """
        whole(times, "times", 1, LARGEST_RESERVATION)
        relation = Neighbours.parse(neighbours)
        if unit is not None:
            checked_name(unit, "unit")
        costs = costs_of(checked_guarantee(guarantee))
        with self._writing() as rows:
            before = latest_of(rows, dataset)
            unit = unit or before.budget.unit
            entry = {
                "summary": f"reserved for one of {so_many(times, 'release')}",
                "neighbours": str(relation),
                "privacy_unit": unit,
            }
            reserved: list[Record] = []
            try:
                for _ in range(times):
                    reserved.append(appended(rows, dataset, costs, entry, unit))
            except IncompatibleChargeError:
                raise
            except BudgetError:
                raise BudgetError(
                    f"All {times} releases of {guarantee} from {dataset!r} must fit into what is left "
                    f"of its budget, {before.left}; found that {len(reserved)} do. Nothing was charged.",
                    dataset,
                    guarantee,
                    before.left,
                ) from None
        return Reservation(tuple(reserved), guarantee, relation, self._take)

    def _take(self, row: Record, costs: Sequence[Cost], entry: Mapping[str, object]) -> None:
        """Note, by a row of its own, which release a row is for that was charged in advance."""
        details = {**plain(entry), "charge": row.number}
        with self._writing() as rows:
            before = latest_of(rows, row.dataset)
            budget = before.budget.held_to(unit_of(entry), row.dataset)
            after(rows, before, "take", budget=budget, asked=asked_by(costs), details=details)

    def of(self, dataset: str) -> DatasetLedger:
        """A data set's account, to be given to an estimator: ``ledger=ledger.of("scans")``."""
        return DatasetLedger(self, dataset)

    def raise_budget(
        self, dataset: str, guarantee: Guarantee, reason: str, who: str | None = None
    ) -> Record:
        """Enlarge a budget; the row that does it names the reason, and who decided it.

        Parameters
        ----------
        dataset : str
        guarantee : Guarantee
            The new budget: of the same kind, smaller in nothing and larger in something.
        reason : str
            Why; public.
        who : str, optional
            Whose decision it was; public.

        Raises
        ------
        ParameterError
            If it is no enlargement, there is no reason, or `who` is no printable text.
        UnknownDatasetError
            If the data set has no budget.
        """
        details = {"reason": checked_name(reason, "reason")}
        if who is not None:
            details["who"] = checked_name(who, "who")
        amount = Amount.of(checked_guarantee(guarantee))
        amount.written()
        with self._writing() as rows:
            before = latest_of(rows, dataset)
            old = before.budget.amount
            if amount.kind != old.kind or old.exceeds(amount) or amount == old:
                raise ParameterError(
                    "guarantee", f"enlarge the budget of {dataset!r}, {old} ({old.kind})", f"{guarantee}"
                )
            budget = replace(before.budget, guarantee=guarantee)
            return after(rows, before, "raise", budget=budget, details=details)

    def note_file(self, dataset: str, file: object, charge: int | Record | None = None) -> Record:
        """Note, by a row of its own, in which file a charged release was saved.

        Parameters
        ----------
        dataset : str
        file : path
        charge : int or Record, optional
            The charge; by default the data set's last one. Name it where several write at once.

        Raises
        ------
        LedgerError
            If the data set has no such charge.
        UnknownDatasetError
            If the data set has no budget.
        """
        wanted = charge.number if isinstance(charge, Record) else charge
        noted = str(path(file, "file"))
        if wanted is not None:
            wanted = whole(wanted, "charge")
        with self._writing() as rows:
            before = latest_of(rows, dataset)
            charges = [r.number for r in rows.records(dataset) if r.action == "charge"]
            if not charges or (wanted is not None and wanted not in charges):
                raise LedgerError(
                    f"The charge must be a row of the history of {dataset!r}; found "
                    f"{'none' if wanted is None else wanted}. See history({dataset!r})."
                )
            details = {"file": noted, "charge": charges[-1] if wanted is None else wanted}
            return after(rows, before, "note", details=details)

    def budget(self, dataset: str) -> Budget:
        """The budget in force."""
        with self._reading() as rows:
            return latest_of(rows, dataset).budget

    def spent(self, dataset: str) -> Amount:
        """What has been charged in all."""
        with self._reading() as rows:
            return latest_of(rows, dataset).spent

    def remaining(self, dataset: str) -> Amount:
        """What is left of the budget."""
        with self._reading() as rows:
            return latest_of(rows, dataset).left

    def datasets(self) -> list[str]:
        """Names of the data sets, in the order of their creation."""
        return [record.dataset for record in self.history() if record.action == "create"]

    def history(self, dataset: str | None = None) -> list[Record]:
        """Rows of one data set, or of all, in order.

        Raises
        ------
        UnknownDatasetError
            If a data set is named that has no budget.
        """
        with self._reading() as rows:
            if dataset is not None:
                latest_of(rows, dataset)
            return rows.records(dataset)

    def releases(self, dataset: str | None = None) -> list[Charged]:
        """What was charged, oldest first: number, time, dataset, what, unit, cost, file and release.

        The file is None where none was noted: the release was not written, or by other means. The unit
        is None where neither the budget nor a release has stated it; the release is its identity.
        """
        return releases(self.history(dataset))

    def charges(self, dataset: str) -> list[Charge]:
        """What a data set's charges cost, by what is known of their losses, to be added up.

        Examples
        --------
        >>> from dpfda.privacy.composition import compose
        >>> from dpfda.privacy.guarantees import PureDP
        >>> from dpfda.privacy.ledger import MemoryLedger
        >>> ledger = MemoryLedger().create("scans", PureDP(1))
        >>> rows = ledger.reserve("scans", PureDP("0.1"), times=5)
        >>> print(compose(ledger.charges("scans")))
        0.5-differential privacy (pure)
        """
        return charges(self.history(dataset))

    def export(self, form: str = "jsonl", dataset: str | None = None) -> str:
        """The history as text: "jsonl" (JSON lines) or "csv"."""
        writers = {"jsonl": to_json_lines, "csv": to_csv}
        return writers[choice(form, "form", tuple(writers))](self.history(dataset))

    def show(self, dataset: str | None = None) -> str:
        """Budgets, spent and left, in words: a block a data set."""
        records = self.history(dataset)
        names = [record.dataset for record in records if record.action == "create"]
        if not names:
            return "no data sets"
        return "\n".join(_shown([r for r in records if r.dataset == name]) for name in names)

    def check(self) -> None:
        """Add the whole history up again.

        Raises
        ------
        LedgerError
            If rows are missing, a total is not the sum of its charges, or a budget is exceeded.
        """
        audit(self.history())

    def title(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        try:
            body = self.show()
        except LedgerError as error:
            body = str(error)
        return self.title() + "\n" + "\n".join(f"  {line}" for line in body.splitlines())


def _shown(records: list[Record]) -> str:
    last = records[-1]
    count = sum(record.action == "charge" for record in records)
    return (
        f"{last.dataset}: {last.left} left of {last.budget}\n"
        f"  spent {last.spent} on {so_many(count, 'release')}"
    )
