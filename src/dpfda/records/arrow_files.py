"""Files of Arrow (Feather, IPC files and streams), in blocks, read as Parquet files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from dpfda.numerics.errors import DataError

ENDINGS = (".feather", ".arrow", ".arrows", ".ipc")


@dataclass(frozen=True, repr=False, eq=False)
class ArrowFile:
    """An opened file that answers as a Parquet file does. Private but for its schema."""

    schema_arrow: Any
    batches: Sequence[Any]

    @property
    def metadata(self) -> Any:
        """Number of rows."""
        return SimpleNamespace(num_rows=sum(batch.num_rows for batch in self.batches))

    def iter_batches(self, rows: int, columns: Sequence[str]) -> Iterator[Any]:
        """Blocks of at most so many rows of these columns."""
        for batch in self.batches:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows).select(list(columns))


def open_arrow(path: Any) -> ArrowFile:
    """Open a file, without reading columns where it is not compressed.

    Raises
    ------
    DataError
        If it is no file of Arrow, or a damaged one.
    """
    import pyarrow as pa

    try:
        source = pa.BufferReader(path.content) if hasattr(path, "content") else pa.memory_map(str(path))
        try:
            file = pa.ipc.open_file(source)
            batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        except pa.ArrowInvalid:
            source.seek(0)
            file = pa.ipc.open_stream(source)
            batches = list(file)
    except (pa.ArrowException, OSError):
        raise DataError(f"{path.name} must be an Arrow file; found one that cannot be read.") from None
    return ArrowFile(file.schema, batches)
