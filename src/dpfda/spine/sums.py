"""From records to exact integer sums, block by block; shared by fits, streams and clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import BoxFunctions, flat_grid, on_box
from dpfda.bounds import L1Rule, l1_sum
from dpfda.numerics import compiled
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles, is_direct
from dpfda.numerics.embedding import Rows, product, quantised, transform, transform_matrix
from dpfda.numerics.errors import DataError, Kept, Location, ParameterError, Private
from dpfda.numerics.gridrules import FromLine, GridRule
from dpfda.numerics.gridsums import grid_sum
from dpfda.numerics.parameters import known
from dpfda.publication import MeanPlan, Prepared
from dpfda.publication.mean_designs import ReadingRule
from dpfda.records import Curves, curves_from_array, standardized
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import matrix_of, opened, refuse_kinds, rows_of, shape_of
from dpfda.records.curves import check_orientation, order_by_unit, refuse_unusable, shape_limits, units
from dpfda.spine.embedding import Embedding, embedding_of, moves
from dpfda.spine.settings import Reading

# Numbers that are worked on at a time: public, so that memory does not depend on the data.
NUMBERS_AT_ONCE = 2**16
# Of curves that have been read compiled loops save more from here on than it takes to load them.
LARGE = 2**26
# Of another type than the compiled loops read, made doubles in the processor's cache.
CONVERTED_AT_ONCE = 2**17
# Entries of a matrix up to which products with it are faster than a transform of each record by itself.
LARGEST_MATRIX = 2**18


@dataclass(frozen=True, eq=False)
class Summation:
    """How records become integers that are added up. Public; sums of parts may be merged in any order.

    Where a bound is enforced on the grid, the integers are those of the grid, and the exact sum is taken
    to coefficients once, at the end. Otherwise each record is embedded and clipped by itself.

    plan: Basis, bound and reading are used; of the number of units only what `components` says.
    components: How many coefficients are needed.
    """

    plan: MeanPlan
    components: int

    @classmethod
    def of(cls, plan: MeanPlan) -> Summation:
        """With as many coefficients as a plan needs."""
        return cls(plan, plan.components())

    @property
    def reading(self) -> ReadingRule:
        """How records are read."""
        return self.plan.reading or Reading()

    @property
    def clipping(self) -> GridRule | None:
        """The rule by which values are clipped one by one, where nothing else is done to a record."""
        placed = self.plan.on_grid
        return placed.rule if placed and self._plain and not placed.rule.shrinks else None

    def same_integers(self, other: Summation) -> bool:
        """Whether both turn every record into the same integers."""
        mine, theirs = self.plan, other.plan
        if self.reading.rules != other.reading.rules:
            return False
        if mine.on_grid is not None and theirs.on_grid is not None:
            return mine.on_grid.rule.same(theirs.on_grid.rule) and np.array_equal(
                mine.on_grid.matrix, theirs.on_grid.matrix
            )
        return (
            mine.on_grid is None
            and theirs.on_grid is None
            and mine.ball == theirs.ball
            and mine.bound.to_json() == theirs.bound.to_json()
            and mine.basis.to_json() == theirs.basis.to_json()
        )

    def empty(self) -> IntegerSum:
        """The sum over no records. Private from the first record on."""
        placed = self.plan.on_grid
        return IntegerSum(self.components if placed is None else placed.rule.center.size)

    @cached_property
    def embedding(self) -> Embedding | None:
        """What becomes of each record once it is read; None where records are taken as they are."""
        return embedding_of(self.reading)

    def matrix(self, values: object) -> Cells:
        """A block of records as a matrix that fits the basis; see `matrix_on`."""
        return matrix_on(values, self.plan.basis, self.reading)

    def of_records(self, matrix: Cells | Curves, codes: Integers | None = None) -> IntegerSum:
        """The sum over privacy units, each the average of its usable records in the order of the rows.

        matrix: array (n, m). Records of any real type.
        codes: array (n,) of int. Number of each record's unit: from 0 on, none left out; None where each
            is one.
        Raises DataError with the place of a value that is not finite, unless repairing.
        """
        total = self.empty()
        alone = codes is None and self._plain
        if alone and not isinstance(matrix, Curves) and (bounded := self._bounded(matrix)) is not None:
            totals, unusable = bounded
            if unusable and self.reading.invalid == "refuse":
                refuse_unusable(matrix, 0, _fills(self.plan.basis))
            return total.add_totals(totals, len(matrix))
        read = self._compiled(matrix, codes)
        for totals, count in read or ():
            total.add_totals(totals, count)
        for curves in self.units(matrix, codes) if read is None else ():
            self.add_curves(total, curves)
        return total

    def units(
        self, matrix: Cells | Curves, codes: Integers | None, first_row: int = 0
    ) -> Iterator[Curves]:
        """One curve a unit, block by block, for what is no sum of them; otherwise as `of_records`.

        first_row: Number of the first record in errors, where each is a unit.
        """
        if isinstance(matrix, Curves):
            yield matrix
        elif codes is not None:
            yield from self._averaged(matrix, codes)
        else:
            for start in range(0, len(matrix), self._step()):
                yield self._curves(matrix[start : start + self._step()], first_row + start)

    def lengths(self, matrix: Cells | Curves, codes: Integers | None, line: FromLine) -> Floats:
        """How far units are from a line: those alone that can be used, in no order. Private.

        matrix, codes: As of `of_records`.
        """
        read = self._compiled(matrix, codes, line)
        if read is None:
            parts = [line.lengths(some.values[some.usable]) for some in self.units(matrix, codes)]
        else:
            parts = [lengths for lengths, _ in read]
        return np.concatenate(parts)

    def _averaged(self, matrix: Cells, codes: Integers) -> Iterator[Curves]:
        if self.reading.invalid == "refuse":
            self.refuse(matrix)
        sizes = np.bincount(codes)
        order, starts = order_by_unit(codes), np.append(0, np.cumsum(sizes))
        first = 0
        while first < sizes.size:
            # Whole units, as many as are a block, and one at least.
            last = max(
                first + 1, int(np.searchsorted(starts, starts[first] + self._step(), "right")) - 1
            )
            rows = order[starts[first] : starts[last]]
            yield units(self._curves(matrix[rows], 0), codes[rows] - first)
            first = last

    def _step(self) -> int:
        return max(1, NUMBERS_AT_ONCE // self.plan.basis.weights.size)

    def _curves(self, block: Cells, first_row: int) -> Curves:
        """A block of records, checked, filled and standardised."""
        return read_block(block, self.plan.basis, self.reading, first_row)

    def _bounded(self, values: Cells) -> tuple[Integers | list[int], int] | None:
        """Exact totals of records as they are, and how many of them cannot be used.

        None where a bound is enforced neither on the grid nor in an l1 ball: then each is embedded.
        """
        if self.plan.on_grid is not None:
            return grid_sum(values, self.plan.on_grid.rule)
        return None if self._in_l1 is None else l1_sum(values, self._in_l1)

    @cached_property
    def _in_l1(self) -> L1Rule | None:
        """How an l1 bound is enforced on the coefficients that are needed, where there is a rule."""
        rule = self.plan.in_l1
        return None if rule is None else rule.truncated(self.components)

    def _compiled(
        self, matrix: Cells | Curves, codes: Integers | None, line: FromLine | None = None
    ) -> list[tuple[Cells, int]] | None:
        """What compiled loops read, block by block, and of how many units; None where others read it."""
        alone = self.plan.on_grid is not None and self.embedding is None
        if isinstance(matrix, Curves) or not alone or not compiled.worthwhile(matrix.size):
            return None
        if codes is not None:
            return [self._read_units(matrix, codes, line)] if is_direct(matrix) else None
        none, parts = np.empty(0, dtype=np.int64), []
        for start, block in _direct(matrix):
            marks = np.zeros(len(block), dtype=np.bool_)
            parts.append((self._read(block, (none, none, none), marks, start, line)[0], len(block)))
        return parts

    def _read_units(self, matrix: Cells, codes: Integers, line: FromLine | None) -> tuple[Cells, int]:
        """What `_read` gives of averages over the usable records of units; and how many these are."""
        sizes = np.bincount(codes)
        starts, order = np.append(0, np.cumsum(sizes)), np.empty(0, dtype=np.int64)
        if np.any(codes[1:] < codes[:-1]):
            order = compiled.sorted_order(codes, starts)
        marks = np.zeros(len(codes), dtype=np.bool_)
        numbers, unusable = self._read(matrix, (order, starts, sizes), marks, 0, line)
        if unusable:
            # Averages are over usable records: which are is known only now.
            usable = np.bincount(codes[~marks], minlength=sizes.size)
            numbers, _ = self._read(matrix, (order, starts, usable), marks, 0, line)
        return numbers, sizes.size

    def _read(
        self,
        matrix: Cells,
        units: tuple[Integers, Integers, Integers],
        marks: Flags,
        first_row: int,
        line: FromLine | None,
    ) -> tuple[Cells, int]:
        """Totals, or lengths from a line; and how many records were found unusable."""
        rule, basis = known(self.plan.on_grid).rule, self.plan.basis
        complete, standardize = self.reading.missing == "complete", self.reading.standardize
        how = (complete, standardize, flat_grid(basis), rule.weights)
        reading = (*how, *shape_limits(basis.weights))
        numbers: Cells
        if line is None:
            numbers, refused, unusable = compiled.read_and_sum(matrix, rule, reading, units, marks)
        else:
            numbers, refused, unusable = compiled.read_lengths(matrix, line, reading, units, marks)
        if refused and self.reading.invalid == "refuse":
            self.refuse(matrix, first_row)
        return numbers, unusable

    def refuse(self, matrix: Cells, first_row: int = 0) -> None:
        """Read records again, to say which of them is the first that cannot be used."""
        for _ in self.units(matrix, None, first_row):
            continue

    @property
    def _plain(self) -> bool:
        """Whether records are taken as they are."""
        read = self.reading
        return read.missing == "refuse" and not read.standardize and self.embedding is None

    def add_curves(self, total: IntegerSum, curves: Curves) -> None:
        """Add curves that have been checked; unusable ones count as the bound's center."""
        large = self.plan.on_grid is not None and curves.values.size >= LARGE and curves.usable.all()
        step = curves.usable.size if large else self._step()
        for start in range(0, curves.usable.size, step):
            rows = slice(start, start + step)
            self._add_block(total, curves.values[rows], curves.usable[rows])

    def finish(self, total: IntegerSum, plan: MeanPlan) -> IntegerSum:
        """The integers that get noise, under the plan that is published; see `MeanPlan.measure`."""
        if plan.on_grid is None or plan.keeps_grid:
            return total
        return total.through(plan.grid_matrix(plan.on_grid))

    def prepared(
        self, total: IntegerSum, plan: MeanPlan | None = None
    ) -> Prepared[MeanPlan, IntegerSum]:
        """A sum with the plan that it answers, by default the one that it was made under."""
        plan = plan or self.plan
        return Prepared(plan, self.finish(total, plan))

    def summed(self, total: IntegerSum) -> Prepared[MeanPlan, Summed]:
        """A sum, before a plan decides which of its numbers get noise."""
        return Prepared(self.plan, Summed(self, total))

    def _add_block(self, total: IntegerSum, values: Floats, usable: Flags) -> None:
        plan = self.plan
        known_values = values if usable.all() else np.where(usable[:, None], values, np.nan)
        if (bounded := self._bounded(known_values)) is not None:
            total.add_totals(bounded[0], usable.size)
            return
        centered = plan.bound.restrict(values, flat_grid(plan.basis))
        total.add(plan.ball.clip(self._embed(np.where(usable[:, None], centered, 0.0))))

    @cached_property
    def _embed(self) -> Callable[[Floats], Rows]:
        basis = self.plan.basis
        if not on_box(basis):
            analysis = basis.analysis[:, : self.components]
        else:
            basis = basis.truncate(self.components)
            if basis.weights.size * self.components > LARGEST_MATRIX:
                return partial(transform, basis=basis)
            analysis = transform_matrix(basis, basis.weights.size)
        public, exponent, bits = quantised(analysis)
        return partial(product, public=public, exponent=exponent, bits=bits)


@dataclass(frozen=True, eq=False, repr=False)
class Readable(Kept):
    """Records that can be read more than once. Private.

    matrix: array (n, m); or curves that have been read, one a unit.
    codes: array (n,) of int, or None. Number of each record's unit.
    """

    matrix: Cells | Curves
    codes: Integers | None = None

    def __len__(self) -> int:
        return len(self.matrix.usable if isinstance(self.matrix, Curves) else self.matrix)

    def total(self, plan: MeanPlan) -> IntegerSum:
        """The integers that get noise under a plan."""
        return self.of_grid(self.on_grid(plan), plan)

    def on_grid(self, plan: MeanPlan) -> IntegerSum:
        """Sums at all points of the grid, of which those that get noise are made."""
        with np.errstate(all="ignore"):
            return Summation.of(plan).of_records(self.matrix, self.codes)

    @staticmethod
    def of_grid(total: IntegerSum, plan: MeanPlan) -> IntegerSum:
        """The integers that get noise under a plan, from sums at all points under the same bounds."""
        return Summation.of(plan).finish(total, plan)

    def units(self, plan: MeanPlan) -> Iterator[Curves]:
        """One curve a unit, as a plan reads it, block by block."""
        return Summation.of(plan).units(self.matrix, self.codes)

    def lengths(self, plan: MeanPlan, line: FromLine) -> Floats:
        """How far units (n,), as a plan reads them, are from a line; nothing for unusable ones."""
        count = len(self) if self.codes is None else int(self.codes.max()) + 1
        usable, lengths = Summation.of(plan).lengths(self.matrix, self.codes, line), np.zeros(count)
        lengths[: usable.size] = usable
        return lengths


@dataclass(frozen=True, eq=False, repr=False)
class Summed(Private):
    """Records that were added up, before a plan decides which numbers of the sum get noise.

    summation: Public: how.
    added: Private.
    """

    summation: Summation
    added: IntegerSum

    def total(self, plan: MeanPlan) -> IntegerSum:
        """The integers that get noise under a plan of the same sums."""
        with np.errstate(all="ignore"):
            return self.summation.finish(self.added, plan)


# A plan of a mean, and what has its integers; which of them get noise is still open.
Answered = Prepared[MeanPlan, Readable] | Prepared[MeanPlan, Summed]


def _direct(matrix: Cells) -> Iterator[tuple[int, Cells]]:
    """Blocks that compiled loops can read, and where they begin: all at once, or made doubles."""
    step = len(matrix) if is_direct(matrix) else max(1, CONVERTED_AT_ONCE // matrix.shape[1])
    for start in range(0, len(matrix), step):
        block = matrix[start : start + step]
        yield start, block if is_direct(block) else doubles(block)


def read_block(
    block: object, basis: Basis | BoxFunctions, reading: ReadingRule, first_row: int = 0
) -> Curves:
    """Records, checked, filled, standardised and embedded: each by itself. Private.

    Raises DataError with the place of the first that cannot be used, unless repairing.
    """
    embedding, fills = embedding_of(reading), _fills(basis)
    if embedding is None:
        grid = flat_grid(basis)
        read = reading.missing, reading.invalid, first_row, fills
        curves = curves_from_array(block, grid, *read, copied=False)
        return standardized(curves, basis.weights) if reading.standardize else curves
    matrix = matrix_of(block, reading.invalid)
    grid = np.arange(float(matrix.shape[1])) if embedding.moved else flat_grid(basis)
    curves = curves_from_array(matrix, grid, reading.missing, reading.invalid, first_row, fills)
    curves = standardized(curves, basis.weights) if reading.standardize else curves
    embedded = embedding.curves(curves, basis.weights.size)
    if reading.invalid == "refuse" and not embedded.usable.all():
        words = f"embed must give finite numbers; found others for $place. {OUTSIDE}"
        raise DataError(words, place=Location(first_row + int(np.argmin(embedded.usable))))
    return embedded


def _fills(basis: Basis | BoxFunctions) -> bool:
    """Whether gaps can be filled: along an axis, and not between the points of a box."""
    return not on_box(basis)


def matrix_on(values: object, basis: Basis | BoxFunctions, reading: ReadingRule) -> Cells:
    """Records as a matrix (n, m) that fits the basis; on a box also images (n, m_1, ..., m_d).

    Raises DataError or OrientationError if the shape or type of the data does not fit. Raises
    ParameterError if gaps are to be filled on a box.
    """
    if on_box(basis):
        if reading.missing == "complete":
            remedy = (
                "Interpolation between scattered neighbours is not offered: fill the gaps yourself, "
                "within each record."
            )
            raise ParameterError("missing", "be 'refuse' on a box", "'complete'", remedy)
        values = _flattened(values, tuple(axis.size for axis in basis.grid_points), reading.invalid)
    matrix = matrix_of(values, reading.invalid)
    if not moves(reading):
        check_orientation(matrix.shape, basis.weights.size)
    return matrix


def _flattened(values: object, cells: tuple[int, ...], invalid: str) -> object:
    """Images (n, m_1, ..., m_d) as rows (n, m_1 ... m_d); other records as they are."""
    values = opened(values)
    if len(cells) == 1:
        return values
    if isinstance(values, np.ndarray):
        # A view, whose mask comes along.
        return values.reshape(len(values), -1) if values.shape[1:] == cells else values
    if not isinstance(values, list | tuple) or shape_of(values)[1:] != cells[:1]:
        return values
    refuse_kinds(values)
    return rows_of(values, cells, invalid)
