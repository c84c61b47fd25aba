"""Records that come in blocks, for data larger than memory: the verbs of a mean for them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from dpfda.numerics.errors import DataError
from dpfda.publication import MeanPlan
from dpfda.records.arrow import arrow_table, blocks_of
from dpfda.summaries.arguments import Labels, Records
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.streams import MeanStream


class InBlocks(Estimator):
    """A mean that is fitted on blocks, or in one go."""

    @abstractmethod
    def _planned_on(self, X: object, groups: object = None) -> MeanPlan:
        """The plan on the columns of X, where the number of records is not known yet."""

    def partial_fit(self, X: Records, y: Labels = None) -> Self:
        """Add a block of records, for data larger than memory; `finish` publishes their mean.

        The sum is exact: however the records are cut into blocks, and in whatever order these come, the
        integers before the noise are those of one `fit` on all records. Each record is its own privacy
        unit. Nothing is charged or published before `finish`; until then the estimator holds what is
        private. Sums of several processes are merged by `dpfda.summaries.streams.MeanStream`.

        Parameters
        ----------
        X : array (n, m), data frame or FDataGrid
            One curve a row; its columns are those of the first block. For example the row groups of a
            Parquet file, or slices of a Zarr array. Private.
        y : None
            Ignored.

        Raises
        ------
        DataError
            With row (counted within the block) and column of a value that cannot be used, unless
            repairing. Nothing of the block was added.

        Examples
        --------
        >>> import numpy as np
        >>> mean = PrivateMean(1.0, bounds=(-1, 1))
        >>> for block in (np.zeros((50, 8)), np.ones((50, 8))):
        ...     mean = mean.partial_fit(block)
        >>> mean.finish().release_.count
        100.0
        """
        X = arrow_table(X)
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
