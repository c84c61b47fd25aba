"""The mean of more records than memory holds: add blocks in any order, merge, release once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

import numpy as np

from dpfda.mean.two_looks import single
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DataError, DpfdaError, ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import MeanPlan, Plan, Prepared, publish
from dpfda.publication.means import ReleasedMean
from dpfda.records.arrow import arrow_table, blocks_of
from dpfda.records.frames import Container
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.spine.arguments import Bounds, Functions, Labels, Noise, Number, PublicCurves, Records
from dpfda.spine.choices import check_count
from dpfda.spine.curves import check_same_grid
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.sums import Readable, Summation

if TYPE_CHECKING:
    from dpfda.publication.session import Session

# Two numbers of units: the basis must be the same for both.
TRIAL_SIZES = (2, 10**9)


class MeanStream:
    """A mean whose records come in blocks: rows of an array, a row group of a file, a partition.

    The sum is exact, so the result does not depend on how the records are cut into blocks, nor on the
    order of the blocks: the integers before the noise are those of one block of all records. They are
    those of one fit, too, but where records are cut to a ball of coefficients (an l1 bound, say), of
    which the mechanism measures as many as their number calls for: not known yet, so all are cut.

    Each record is its own privacy unit: there are no `groups`, because a person whose records lie in
    two blocks would count twice. Average each person's records first, or use `fit`.

    `PrivateMean.partial_fit` keeps one. Make some of your own to add up in several processes or threads
    and to merge. Whatever they hold is private until `release`.

    Parameters
    ----------
    plan : MeanPlan
        What is to be published, on the columns of all blocks. Noise is designed for the number of
        records that come, whatever number was planned.
    ledger : ledger.of(dataset), optional
        As in `PrivateMean`: charged at the release.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> stream = MeanStream(PrivateMean(1.0, bounds=(-1, 1)).plan(n=300, columns=20))
    >>> for day in range(3):
    ...     _ = stream.add(np.full((100, 20), 0.1 * day))
    >>> release = stream.release()
    >>> release.count
    300.0
    """

    def __init__(self, plan: Plan, ledger: object = None) -> None:
        plan = single(plan)
        if not isinstance(plan, MeanPlan):
            words = "be the plan of a mean, such as PrivateMean(...).plan(n=1000, columns=48)"
            raise ParameterError("plan", words, shown(plan))
        self._summation = open_summation(plan)
        self._paying = read_ledger(ledger)
        self._total: IntegerSum | None = None
        self._labels: Sequence[object] | None = None
        self._width = int(plan.basis.weights.size)
        self._open = True

    def add(self, X: object) -> Self:
        """Add a block of records: an array (n, m), a data frame or an FDataGrid. Private.

        Raises
        ------
        DataError
            With row (counted within the block) and column of a value that cannot be used, unless
            repairing. Nothing of the block was added.
        """
        self._check_open()
        block = Container.of(X)
        refuse_irregular(block)
        if self._total is not None and block.labels != self._labels:
            raise DataError("All blocks must have the columns of the first, in its order.")
        basis = self._summation.plan.basis
        with np.errstate(all="ignore"):
            handed = block.curves(basis.grid_points)
            check_same_grid(basis, handed, self._summation.reading)
            matrix = self._summation.matrix(handed.values)
            part = self._summation.of_records(matrix)
        if self._total is None:
            self._total, self._labels, self._width = part, block.labels, matrix.shape[1]
        else:
            self._total.merge(part)
        return self

    def merge(self, other: MeanStream) -> Self:
        """Add all that another stream of the same plan has collected, and close that one.

        Raises
        ------
        DpfdaError
            If the two do not turn records into integers by the same public rule.
        """
        self._check_open()
        if not isinstance(other, MeanStream):
            raise ParameterError("other", "be a stream of the same plan", shown(other))
        other._check_open()
        if other is self:
            raise DpfdaError("A stream cannot be merged with itself: its records would count twice.")
        # An empty stream too: its noise will be that of its own bounds.
        if not self._summation.same_integers(other._summation):
            raise DpfdaError("The two streams have different bounds, grids or bases.")
        other._open = False
        if self._total is None:
            self._total, self._labels = other._total, other._labels
        elif other._total is not None:
            self._total.merge(other._total)
        return self

    def prepared(self) -> Prepared[MeanPlan, IntegerSum]:
        """The exact sum with the plan for the number of records that came. Private."""
        self._check_open()
        if self._total is None:
            raise DataError("X must hold at least two curves; no block was added.")
        return finished(self._summation, self._total)

    def release(self) -> ReleasedMean:
        """Charge the ledger, draw the noise and publish the mean; the stream is closed.

        Returns
        -------
        ReleasedFunction
            As `PrivateMean.fit` would have released on all records at once.
        """
        prepared = self.prepared()
        released = publish(prepared.total, prepared.plan, self._paying)
        self._open = False
        return released

    @property
    def columns(self) -> int:
        """Number of columns of the blocks."""
        return self._width

    def _check_open(self) -> None:
        if not self._open:
            raise DpfdaError(
                "The stream is closed: it was released or merged. Another release of the same records "
                "is a second release; start a new stream for it."
            )

    def __repr__(self) -> str:
        return f"MeanStream({'open' if self._open else 'closed'}, content private)"

    def __reduce__(self) -> NoReturn:
        raise DpfdaError("A MeanStream is private and cannot be pickled or copied.")


def refuse_irregular(X: object) -> None:
    """Refuse curves without a common grid: only `fit` has them all.

    Raises
    ------
    DataError
        If they are irregular.
    """
    if Container.of(X).irregular:
        raise DataError("A stream takes curves on a common grid; use fit for irregular curves.")


def open_summation(plan: MeanPlan, at: Callable[[int], MeanPlan] | None = None) -> Summation:
    """How records become integers where their number is not known yet.

    Parameters
    ----------
    plan : MeanPlan
    at : callable, optional
        Makes the plan for a number of units; by default `plan.at`.

    Raises
    ------
    ParameterError
        If the mechanism cannot give the guarantee, or the basis would depend on the number of records.
    """
    if plan.neighbours is Neighbours.ADD_REMOVE:
        return Summation.of(plan)
    few, many = (
        Summation(tried, tried.basis.eigenvalues.size) for tried in map(at or plan.at, TRIAL_SIZES)
    )
    # A mechanism that cannot give the guarantee is refused before any record is read.
    few.plan.components()
    if few.components != many.components or not few.same_integers(many):
        words = "not choose the basis by the number of records, which is not known yet"
        remedy = "Fix what it chooses, for example Bernstein(degree=20)."
        raise ParameterError("mechanism", words, repr(plan.mechanism), remedy)
    return few


def finished(
    summation: Summation, total: IntegerSum, at: Callable[[int], MeanPlan] | None = None
) -> Prepared[MeanPlan, IntegerSum]:
    """The sum with the plan for the number of records that came; `at` as in `open_summation`.

    Raises
    ------
    DpfdaError
        As `counted`.
    """
    return counted(summation, total, at).prepared(total)


def counted(
    summation: Summation, total: IntegerSum, at: Callable[[int], MeanPlan] | None = None
) -> Summation:
    """How records were added up, with the plan for the number of those that came.

    Raises
    ------
    DpfdaError
        If the plan's bounds or basis are not those under which the records were added up, because an
        array in them was written to meanwhile.
    """
    plan, count = summation.plan, total.count_with_noise(0, 1)
    check_count(plan.neighbours, count, summation.reading.invalid)
    if plan.neighbours is Neighbours.REPLACE_ONE:
        plan = (at or plan.at)(count)
    # The noise is that of this plan's bound: it must be the one that was enforced.
    own = Summation(plan, summation.components)
    if not own.same_integers(summation):
        raise DpfdaError("Bounds or basis were changed after records had been added. Start again.")
    return own


class InBlocks(Estimator):
    """A mean by its parameters, and the roads to it beside one fit: blocks, and a session."""

    bounds: Bounds
    basis: Functions
    mechanism: Noise
    prior: PublicCurves
    variance: Number
    release_: ReleasedMean | ReleasedPooledMean
    _embeds = True

    @abstractmethod
    def _read(self, records: Container) -> Prepared[MeanPlan, Readable]:
        """The plan of one mean, and its records, of which the shape alone was looked at."""

    @abstractmethod
    def _planned_on(self, X: object, groups: object = None) -> MeanPlan:
        """The plan on the columns of X, where the number of records is not known yet."""

    def open_session(
        self, X: Records, path: str | Path, groups: Labels = None, questions: int | None = None
    ) -> Session:
        """Answer functionals of the mean one at a time, instead of releasing the whole function.

        The guarantee of the whole path is charged at once; see `dpfda.Session`.

        Parameters
        ----------
        X, groups
            As in `fit`. Private.
        path : path
            Where the session's secret state is kept; there must be no file yet.
        questions : int, optional
            For a pure epsilon: the number of linearly independent functionals that will be answered at
            most. All are charged at once. Public.

        Raises
        ------
        RefusedMechanismError
            If the noise is not Gaussian, for example because delta is 0 and no number of questions is
            given.
        """
        from dpfda.publication.session import Session

        return Session.open(self, X, path, groups, questions)

    def partial_fit(self, X: Records, y: Labels = None) -> Self:
        """Add a block of records, for data larger than memory; `finish` publishes their mean.

        The sum is exact: however the records are cut into blocks, and in whatever order these come, the
        integers before the noise are those of one block of all records, and mostly those of one `fit`
        (see `dpfda.mean.streams.MeanStream`). Each record is its own privacy unit. Nothing is
        charged or published before `finish`; until then the estimator holds what is private. Sums of
        several processes are merged by `dpfda.mean.streams.MeanStream`.

        Parameters
        ----------
        X : array (n, m), data frame or FDataGrid
            One curve a row; its columns are those of the first block. For example the row groups of a
            Parquet file, or slices of a Zarr array. Private.
        y : None
            Not read; a warning says so.

        Raises
        ------
        DataError
            With row (counted within the block) and column of a value that cannot be used, unless
            repairing. Nothing of the block was added.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfda import PrivateMean
        >>> mean = PrivateMean(1.0, bounds=(-1, 1))
        >>> for block in (np.zeros((50, 8)), np.ones((50, 8))):
        ...     mean = mean.partial_fit(block)
        >>> mean.finish().release_.count
        100.0
        """
        warn_of_labels(y)
        X = arrow_table(X)
        self._check_road("partial_fit")
        stream: MeanStream | None = self.__dict__.get("_stream")
        shape = tuple(getattr(X, "shape", ()))
        if stream is not None and len(shape) == 2 and shape[1] != stream.columns:
            raise DataError(
                f"X has {shape[1]} features, but PrivateMean is expecting {stream.columns} features as "
                "input: all blocks must have the columns of the first."
            )
        if stream is None:
            stream = MeanStream(self._planned_on(X), self.ledger).add(X)
            self._stream = stream
            self._set_feature_names(X)
        else:
            stream.add(X)
        self.n_features_in_ = stream.columns
        return self

    def fit_blocks(self, blocks: object) -> Self:
        """Release the mean of records that come in blocks, from a source larger than memory.

        Parameters
        ----------
        blocks : iterable of containers, or a source that has blocks
            A reader of Arrow's IPC streams or files, a data set or Parquet file of Arrow, a relation of
            DuckDB, a table of Ibis, a lazy frame of polars, a result of SQLAlchemy or a cursor of the
            DB-API; or any iterator of what `partial_fit` takes. All columns are the curve. Private.

        Returns
        -------
        self
            With `release_`, as one `fit` on all records would have released it.

        Raises
        ------
        DataError
            If there are blocks of `partial_fit` that wait for `finish`; or as `partial_fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfda import PrivateMean
        >>> blocks = (np.full((50, 8), day / 10) for day in range(3))
        >>> PrivateMean(1.0, bounds=(-1, 1)).fit_blocks(blocks).release_.count
        150.0
        """
        if hasattr(self, "_stream"):
            raise DataError("There are blocks that wait: call finish() first, or take a new estimator.")
        try:
            for block in blocks_of(blocks):
                if getattr(block, "num_rows", 1):
                    self.partial_fit(block)
            return self.finish()
        except BaseException:
            # Nothing of a source that broke off may be taken for the beginning of another.
            self.__dict__.pop("_stream", None)
            raise

    def finish(self) -> Self:
        """Charge the ledger, draw the noise and publish the mean of all blocks of `partial_fit`.

        Returns
        -------
        self
            With `release_`. The next block begins another data set.
        """
        if not hasattr(self, "_stream"):
            raise DataError("X must hold at least two curves; no block was given to partial_fit.")
        self.release_ = self._stream.release()
        del self._stream
        return self
