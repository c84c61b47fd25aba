"""What processors do and Python has no word for: fetch ahead, the place of a bit, sums by lanes.

Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 32
# Columns of the matrix of `head_products`.
HEAD = 16
# Pointers had types before, and the name of the instruction that of its pointer.
_FETCH = "llvm.prefetch.p0" if llvmlite.binding.llvm_version_info[0] > 15 else "llvm.prefetch.p0i8"


def _fetch(context: Any, array: Any, place: Any) -> Any:
    """Have the processor bring an entry of a contiguous array near, while it does something else.

    It changes nothing else, and no place, not even one outside, is an error to it.
    """

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        there = builder.bitcast(builder.gep(data, [arguments[1]]), kind)
        form = ir.FunctionType(ir.VoidType(), [kind, number, number, number])
        known = builder.module.globals
        instruction = known[_FETCH] if _FETCH in known else ir.Function(builder.module, form, _FETCH)
        # To be read, kept in all caches, and it is data.
        builder.call(instruction, [there, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), write


def _lowest(context: Any, word: Any) -> Any:
    """The place of the lowest bit of a 64-bit integer; 64 for zero."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), write


def _lane_sum(context: Any, terms: Any) -> Any:
    """The sum of doubles, as many as a multiple of 32, in an order that is the same on all machines.

    Term k goes to lane k mod 32. Each lane of the first half then takes one of the second, again and
    again. Written for vectors, so that lanes stay in registers.
    """

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, vector = array.nitems.type, ir.VectorType(ir.DoubleType(), LANES)
        nothing = ir.Constant(vector, [0.0] * LANES)
        total = cgutils.alloca_once_value(builder, nothing)  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, builder.udiv(array.nitems, word(LANES))) as loop:
            place = builder.gep(array.data, [builder.mul(loop.index, word(LANES))])
            some = builder.load(builder.bitcast(place, vector.as_pointer()), align=8)
            builder.store(builder.fadd(builder.load(total), some), total)
        lanes, half = builder.load(total), LANES // 2
        while half:
            kind = ir.VectorType(ir.IntType(32), half)
            first, second = (
                builder.shuffle_vector(lanes, lanes, ir.Constant(kind, list(range(start, start + half))))
                for start in (0, half)
            )
            lanes, half = builder.fadd(first, second), half // 2
        return builder.extract_element(lanes, ir.IntType(32)(0))

    return types.float64(terms), write


def _head_products(context: Any, rows: Any, matrix: Any, products: Any) -> Any:
    """Products of rows (n, m) with a matrix (m, 16), for n a multiple of 4; all contiguous doubles.

    Four rows at a time, whose sums stay in registers. Any order, and fused operations: for integers.
    """

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second, made = (
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(signature.args, arguments, strict=True)
        )
        vector, size = ir.VectorType(ir.DoubleType(), HEAD), ir.IntType(32)
        points = builder.extract_value(first.shape, 1)
        word, form = points.type, ir.FunctionType(vector, [vector] * 3)
        known, name = builder.module.globals, f"llvm.fmuladd.v{HEAD}f64"
        fused = known[name] if name in known else ir.Function(builder.module, form, name)
        sums = [cgutils.alloca_once(builder, vector) for _ in range(4)]  # type: ignore[no-untyped-call]

        def at(data: Any, place: Any) -> Any:
            return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())

        fours = builder.udiv(builder.extract_value(first.shape, 0), word(4))
        with cgutils.for_range(builder, fours) as loop:
            begun = builder.mul(loop.index, word(4))
            for total in sums:
                builder.store(ir.Constant(vector, [0.0] * HEAD), total)
            with cgutils.for_range(builder, points) as inner:
                column = builder.load(at(second.data, builder.mul(inner.index, word(HEAD))), align=8)
                for place, total in enumerate(sums):
                    row = builder.mul(builder.add(begun, word(place)), points)
                    number = builder.load(builder.gep(first.data, [builder.add(row, inner.index)]))
                    alone = builder.insert_element(ir.Constant(vector, ir.Undefined), number, size(0))
                    same = ir.Constant(ir.VectorType(size, HEAD), [0] * HEAD)
                    spread = builder.shuffle_vector(alone, alone, same)
                    builder.store(builder.call(fused, [spread, column, builder.load(total)]), total)
            for place, total in enumerate(sums):
                row = builder.mul(builder.add(begun, word(place)), word(HEAD))
                builder.store(builder.load(total), at(made.data, row), align=8)
        return context.get_dummy_value()

    return types.void(rows, matrix, products), write


fetch: Any = intrinsic(_fetch)
head_products: Any = intrinsic(_head_products)
lane_sum: Any = intrinsic(_lane_sum)
lowest: Any = intrinsic(_lowest)
