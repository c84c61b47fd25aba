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
Instruction = tuple[Signature, Callable[[object, ir.IRBuilder, Signature, Values], Value]]

LANES = 32
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


fetch: Any = intrinsic(_fetch)
lane_sum: Any = intrinsic(_lane_sum)
lowest: Any = intrinsic(_lowest)
