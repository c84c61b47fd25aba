"""Budgets of data sets: charged before noise is drawn, never over, also under crashes and races.

A budget is one guarantee for one data set. Charges add up in exact rational arithmetic, so that the
budget holds also where each is chosen after looking at releases before it: epsilons and deltas, or rhos;
or, where the first charge to an (epsilon, delta) budget is small, the squared lengths of
`dpfda.privacy.ledger.accounts`, by which many more small releases fit. See docs/composition.md.
A charge of another kind or relation is converted where that is valid and refused where it is not:

==================  =================================================================
charge              into a budget
==================  =================================================================
pure                pure as it is; approximate at delta 0; zero-concentrated at the rho
                    of its law if known (a `Cost`), else at epsilon tanh(epsilon/2)
approximate         approximate; zero-concentrated only if known to be Gaussian
zero-concentrated   zero-concentrated
add/remove          of a replace-one budget at 2 epsilon, (1 + e^epsilon) delta, 4 rho
replace-one         never of an add/remove budget
another unit        never
==================  =================================================================

A ledger is never forked: copies and clones are the same ledger, a pickled file ledger carries its
path alone, and an in-memory ledger refuses to be pickled or used in a forked process.
"""

from dpfda.privacy.ledger.accounts import Amount, Budget
from dpfda.privacy.ledger.base import AnyLedger
from dpfda.privacy.ledger.file import Ledger, MemoryLedger
from dpfda.privacy.ledger.history import Record, to_csv, to_json_lines
from dpfda.privacy.ledger.named import Named, named_ledger, named_once
from dpfda.privacy.ledger.rows import DatasetLedger, Reservation

__all__ = [
    "Amount", "Budget", "DatasetLedger", "Ledger", "AnyLedger", "MemoryLedger", "Named", "Record",
    "Reservation", "named_ledger", "named_once", "to_csv", "to_json_lines",
]  # fmt: skip
