"""The mean of more records than memory holds: add blocks in any order, merge, release once."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpfda.bounds import read_bounds
from dpfda.errors import DataError, DpfdaError, ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.guarantees import Neighbours
from dpfda.records import LongCurves
from dpfda.records.containers import column_labels
from dpfda.summaries.choices import check_choices
from dpfda.summaries.sums import Summation
from dpfda.summaries.two_stage import TwoStages

if TYPE_CHECKING:
    from dpfda.numerics.aggregate import IntegerSum
    from dpfda.summaries.mean import PreparedMean, PrivateMean

# Numbers of units by which it is checked that the basis does not depend on it.
TRIAL_SIZES = (2, 10**9)


class MeanStream:
    """A mean whose records come in blocks: rows of an array, a row group of a file, a partition.

    The sum is exact, so the result does not depend on how the records are cut into blocks, nor on the
    order of the blocks: the integers before the noise are those of one fit on all records.

    The columns of the first block (or the estimator's grid or basis) are the public grid of all. Each
    record is its own privacy unit: there are no `groups`, because a person whose records lie in two
    blocks would count twice. Average each person's records first, or use `fit`.

    `PrivateMean.partial_fit` keeps one. Make some of your own to add up in several processes or threads
    and to merge. Whatever they hold is private until `release`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> stream = MeanStream(PrivateMean(1.0, bounds=(-1, 1)))
    >>> for day in range(3):
    ...     _ = stream.add(np.full((100, 20), 0.1 * day))
    >>> release = stream.release()
    >>> release.count
    300.0
    """

    def __init__(self, estimator: PrivateMean) -> None:
        # A copy: the caller's object may change later, what was added would not.
        self._estimator = copy.copy(estimator)
        self._summation: Summation | None = None
        self._total: IntegerSum | None = None
        self._labels: list[Any] | None = None
        self._open = True

    def add(self, X: Any) -> Self:
        """Add a block of records: an array (n, m), a data frame or an FDataGrid. Private.

        Raises
        ------
        DataError
            With row (counted within the block) and column of a value that cannot be used, unless
            repairing. Nothing of the block was added.
        """
        self._check_open()
        _refuse_irregular(X)
        if self._summation is not None and column_labels(X) != self._labels:
            raise DataError("All blocks must have the columns of the first, in its order.")
        with np.errstate(all="ignore"):
            if self._summation is None:
                values, basis, _ = self._estimator._read(X)
                _refuse_irregular(values)
                self._summation = trial_summation(self._estimator, basis)
                self._labels = column_labels(X)
            else:
                values = self._estimator._values(X, self._summation.request.basis)
                _refuse_irregular(values)
            matrix = self._summation.matrix(values)
            part = self._summation.empty()
            self._summation.add(part, matrix)
        self._total = part if self._total is None else self._total.merge(part)
        return self

    def merge(self, other: MeanStream) -> Self:
        """Add all that another stream of the same estimator has collected, and close that one.

        Raises
        ------
        DpfdaError
            If the two do not turn records into integers by the same public rule.
        """
        self._check_open()
        if not isinstance(other, MeanStream):
            raise ParameterError("other", "be a stream of the same estimator", shown(other))
        other._check_open()
        if other is self:
            raise DpfdaError("A stream cannot be merged with itself: its records would count twice.")
        other._open = False
        if other._summation is None or other._total is None:
            return self
        # An empty stream too: its noise will be that of its own bounds.
        mine = self._summation or trial_summation(self._estimator, other._summation.request.basis)
        if not mine.same_integers(other._summation):
            other._open = True
            raise DpfdaError("The two streams have different bounds, grids or bases.")
        if self._summation is None or self._total is None:
            self._summation, self._labels = mine, other._labels
            self._total = mine.empty()
        self._total.merge(other._total)
        return self

    def prepared(self) -> PreparedMean:
        """The exact sum with its public request, before anything is charged. Private."""
        from dpfda.summaries.mean import PreparedMean

        self._check_open()
        if self._summation is None or self._total is None:
            raise DataError("X must hold at least two curves; no block was added.")
        request, total = finished(self._estimator, self._summation, self._total)
        return PreparedMean(request, total)

    def release(self) -> Any:
        """Charge the ledger, draw the noise and publish the mean; the stream is closed.

        Returns
        -------
        ReleasedFunction
            As `PrivateMean.fit` would have released on all records at once.
        """
        from dpfda.publication import publish

        prepared = self.prepared()
        released = publish(prepared.total, prepared.request, *self._estimator.paying())
        self._open = False
        return released

    @property
    def columns(self) -> int:
        """Number of columns of the blocks."""
        return 0 if self._summation is None else int(self._summation.request.basis.weights.size)

    def _check_open(self) -> None:
        if not self._open:
            raise DpfdaError(
                "The stream is closed: it was released or merged. Another release of the same records "
                "is a second release; start a new stream for it."
            )

    def __repr__(self) -> str:
        return f"MeanStream({'open' if self._open else 'closed'}, content private)"

    def __reduce__(self) -> Any:
        raise DpfdaError("A MeanStream is private and cannot be pickled or copied.")


def _refuse_irregular(values: Any) -> None:
    if isinstance(values, LongCurves):
        raise DataError("A stream takes curves on a common grid; use fit for irregular curves.")


def trial_summation(estimator: PrivateMean, basis: Any) -> Summation:
    """How records become integers where their number is not known yet.

    Raises
    ------
    ParameterError
        If a parameter is unusable, or the basis or the bound would depend on the number of records.
    """
    bound = read_bounds(estimator.bounds, estimator.settings.reading.standardize)
    check_choices(estimator)
    if isinstance(estimator.mechanism, TwoStages):
        raise estimator.mechanism.refusal("records in blocks")
    if Neighbours.parse(estimator.settings.unit.neighbours) is Neighbours.ADD_REMOVE:
        request = estimator._request(basis, bound, estimator._size(Neighbours.ADD_REMOVE, 2), None)
        return estimator._summation(request, request.components())
    few, many = (
        estimator._summation(request, request.basis.eigenvalues.size)
        for request in (estimator._request(basis, bound, size, None) for size in TRIAL_SIZES)
    )
    # A mechanism that cannot give the guarantee is refused before any record is read.
    few.request.components()
    if few.components != many.components or not few.same_integers(many):
        raise ParameterError(
            "mechanism",
            "not choose the basis by the number of records, which is not known yet",
            repr(estimator.mechanism),
            "Fix what it chooses, for example Bernstein(degree=20).",
        )
    return few


def finished(estimator: PrivateMean, summation: Summation, total: IntegerSum) -> tuple[Any, IntegerSum]:
    """The request for the number of records that came, and the integers that get noise.

    Raises
    ------
    DpfdaError
        If the estimator's bounds or basis are not those under which the records were added up, for
        example because an array of bounds was written to meanwhile.
    """
    neighbours = Neighbours.parse(estimator.settings.unit.neighbours)
    size = estimator._size(neighbours, total.count_with_noise(0, 1))
    bound = read_bounds(estimator.bounds, estimator.settings.reading.standardize)
    # The basis before a mechanism adapted it and after: an adapted one is left as it is.
    request = estimator._request(summation.request.basis, bound, size, None)
    # The noise is that of this request's bound: it must be the one that was enforced.
    if not estimator._summation(request, summation.components).same_integers(summation):
        raise DpfdaError("Bounds or basis were changed after records had been added. Start again.")
    with np.errstate(all="ignore"):
        return request, summation.finish(total, request)
