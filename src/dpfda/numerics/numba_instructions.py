"""What processors do and Python has no word for: fetch ahead, the place of a bit, sums by lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding
from llvmlite import ir
from llvmlite.ir import Value
from numba.core import cgutils, types
from numba.core.types import Type
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

Values = Sequence[Value]
# The types of an instruction, and what writes it.
Instruction = tuple[Signature, Callable[[Any, ir.IRBuilder, Signature, Values], Value]]

LANES = 32
# Columns of the matrix of `head_products`.
HEAD = 16
# Pointers had types before, and the name of the instruction that of its pointer.
_FETCH = "llvm.prefetch.p0" if llvmlite.binding.llvm_version_info[0] > 15 else "llvm.prefetch.p0i8"


def _fetch(context: object, array: Type, place: Type) -> Instruction:
    """Have the processor bring an entry of a contiguous array near, while it does something else.

    It changes nothing else, and no place, not even one outside, is an error to it.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
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


def _lowest(context: object, word: Type) -> Instruction:
    """The place of the lowest bit of a 64-bit integer; 64 for zero."""

    def write(context: object, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), write


def _lane_sum(context: object, terms: Type) -> Instruction:
    """The sum of doubles, as many as a multiple of 32, in an order that is the same on all machines.

    Term k goes to lane k mod 32. Each lane of the first half then takes one of the second, again and
    again. Written for vectors, so that lanes stay in registers.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
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


def _head_products(
    context: object, rows: Type, matrix: Type, mirrored: Type, products: Type
) -> Instruction:
    """Products of rows (n, m) with a matrix (m, 16), for n a multiple of 4; all contiguous doubles.

    If `mirrored`, the first eight columns are even and the others odd about the middle row, and sums and
    differences of mirrored entries are multiplied, which is half of the work. Four rows at a time, whose
    sums stay in registers. In any order, and with fused operations: for integers.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
        kinds = signature.args
        first, second, made = (
            context.make_array(kinds[place])(context, builder, arguments[place]) for place in (0, 1, 3)
        )
        count, points = (builder.extract_value(first.shape, place) for place in (0, 1))
        word, numbers = points.type, ir.IntType(32)
        vector = ir.VectorType(ir.DoubleType(), HEAD)
        form, name = ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{HEAD}f64"
        known = builder.module.globals
        fused = known[name] if name in known else ir.Function(builder.module, form, name)
        sums = [cgutils.alloca_once(builder, vector) for _ in range(4)]  # type: ignore[no-untyped-call]

        def load(data: Value, place: Value) -> Value:
            return builder.load(builder.gep(data, [place]))

        def whole(data: Value, place: Value) -> Value:
            there = builder.gep(data, [builder.mul(place, word(HEAD))])
            return builder.bitcast(there, vector.as_pointer())

        def add(total: Value, even: Value, odd: Value, column: Value) -> None:
            pair = ir.Constant(ir.VectorType(ir.DoubleType(), 2), ir.Undefined)
            pair = builder.insert_element(pair, even, numbers(0))
            pair = builder.insert_element(pair, odd, numbers(1))
            halves = ir.Constant(ir.VectorType(numbers, HEAD), [0] * (HEAD // 2) + [1] * (HEAD // 2))
            spread = builder.shuffle_vector(pair, pair, halves)
            builder.store(builder.call(fused, [spread, column, builder.load(total)]), total)

        def alone(begun: Value, place: Value) -> None:
            column = builder.load(whole(second.data, place), align=8)
            for row, total in enumerate(sums):
                start = builder.mul(builder.add(begun, word(row)), points)
                number = load(first.data, builder.add(start, place))
                add(total, number, number, column)

        def paired(begun: Value, place: Value) -> None:
            column = builder.load(whole(second.data, place), align=8)
            other = builder.sub(builder.sub(points, place), word(1))
            for row, total in enumerate(sums):
                start = builder.mul(builder.add(begun, word(row)), points)
                one = load(first.data, builder.add(start, place))
                two = load(first.data, builder.add(start, other))
                add(total, builder.fadd(one, two), builder.fsub(one, two), column)

        with cgutils.for_range(builder, builder.udiv(count, word(4))) as loop:
            begun = builder.mul(loop.index, word(4))
            for total in sums:
                builder.store(ir.Constant(vector, [0.0] * HEAD), total)
            with builder.if_else(cgutils.is_true(builder, arguments[2])) as (then, otherwise):  # type: ignore[no-untyped-call]
                with then:
                    half = builder.udiv(points, word(2))
                    with cgutils.for_range(builder, half) as inner:
                        paired(begun, inner.index)
                    odd = builder.icmp_unsigned("!=", builder.mul(half, word(2)), points)
                    with builder.if_then(odd):
                        alone(begun, half)
                with otherwise, cgutils.for_range(builder, points) as inner:
                    alone(begun, inner.index)
            for row, total in enumerate(sums):
                place = whole(made.data, builder.add(begun, word(row)))
                builder.store(builder.load(total), place, align=8)
        return context.get_dummy_value()

    return types.void(rows, matrix, mirrored, products), write


fetch: Any = intrinsic(_fetch)
head_products: Any = intrinsic(_head_products)
lane_sum: Any = intrinsic(_lane_sum)
lowest: Any = intrinsic(_lowest)
