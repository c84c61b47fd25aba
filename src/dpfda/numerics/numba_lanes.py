"""Instructions that numba has no words for: sums by lanes, fetching ahead, the lowest bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import llvmlite.binding
import numpy as np
from llvmlite import ir
from llvmlite.ir import Value
from numba.core import cgutils, types
from numba.core.types import Type
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from dpfda.numerics.arrays import Floats, Numbers

Values = Sequence[Value]
# The types of an instruction, and what writes it.
Instruction = tuple[Signature, Callable[[object, ir.IRBuilder, Signature, Values], Value]]

LANES = 32
# Pointers had types before, and the name of an instruction that of its pointer.
_POINTER = ".p0" if llvmlite.binding.llvm_version_info[0] > 15 else ".p0{}"
_FETCH = "llvm.prefetch" + _POINTER.format("i8")
# Lanes that fill a register of the widest processors, and their places.
WIDTH = 8
VECTOR, PLACES = ir.VectorType(ir.DoubleType(), WIDTH), ir.VectorType(ir.IntType(32), WIDTH)


def _fetch(context: object, array: Type, place: Type) -> Instruction:
    """Have the processor bring an entry of a contiguous array near, while it does something else.

    It changes nothing else, and no place, not even one outside, is an error to it.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
        kind, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        there = builder.bitcast(builder.gep(data, [arguments[1]]), kind)
        form = ir.FunctionType(ir.VoidType(), [kind, number, number, number])
        names = builder.module.globals
        instruction = names[_FETCH] if _FETCH in names else ir.Function(builder.module, form, _FETCH)
        # To be read, kept in all caches, and it is data.
        builder.call(instruction, [there, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), write


def _lowest(context: object, word: Type) -> Instruction:
    """The place of the lowest bit of a 64-bit integer; 64 for zero."""

    def write(context: object, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), write


def _spread(builder: ir.IRBuilder, number: Value) -> Value:
    """A vector of one number."""
    kind, first = ir.VectorType(number.type, WIDTH), ir.Constant(PLACES, [0] * WIDTH)
    some = builder.insert_element(ir.Constant(kind, ir.Undefined), number, first.type.element(0))
    return builder.shuffle_vector(some, some, first)


def _added(term: Callable[..., Value], row: Type, weights: Type, *others: Type) -> Instruction:
    """The sum over a row of what `term` writes, in an order that is the same on all machines.

    Number k goes to lane k mod 32. Each lane of the first half then takes one of the second, again and
    again. Written for vectors, so that lanes stay in registers.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> Value:
        kinds, nothing = signature.args[:2], ir.Constant(VECTOR, [0.0] * WIDTH)
        arrays = [
            context.make_array(kind)(context, builder, argument)
            for kind, argument in zip(kinds, arguments, strict=False)
        ]
        spread = [_spread(builder, number) for number in arguments[2:]]
        parts = range(0, LANES, WIDTH)
        totals = [cgutils.alloca_once_value(builder, nothing) for _ in parts]  # type: ignore[no-untyped-call]

        def read(array: Any, kind: Any, place: Value, chosen: Value | None) -> Value:
            own, size = ir.VectorType(context.get_data_type(kind.dtype), WIDTH), kind.dtype.bitwidth
            there = builder.bitcast(builder.gep(array.data, [place]), own.as_pointer())
            if chosen is None:
                numbers = builder.load(there, align=size // 8)
            else:
                name = f"llvm.masked.load.v{WIDTH}f{size}" + _POINTER.format(f"v{WIDTH}f{size}")
                word = ir.IntType(32)
                form = ir.FunctionType(own, [own.as_pointer(), word, chosen.type, own])
                load = cgutils.get_or_insert_function(builder.module, form, name)  # type: ignore[no-untyped-call]
                numbers = builder.call(load, [there, word(size // 8), chosen, own([0.0] * WIDTH)])
            return numbers if own == VECTOR else builder.fpext(numbers, VECTOR)

        def add(total: Value, place: Value, chosen: Value | None = None) -> None:
            both = [read(array, kind, place, chosen) for array, kind in zip(arrays, kinds, strict=True)]
            summand = term(builder, *both, *spread)
            # Beyond the row a term need not be zero.
            summand = summand if chosen is None else builder.select(chosen, summand, nothing)
            builder.store(builder.fadd(builder.load(total), summand), total)

        word = arrays[0].nitems.type
        rest = builder.urem(arrays[0].nitems, word(LANES))
        full = builder.sub(arrays[0].nitems, rest)
        steps = cgutils.for_range_slice(builder, word(0), full, word(LANES), word)
        with steps as (place, _):
            for part, total in zip(parts, totals, strict=True):
                add(total, builder.add(place, word(part)))
        for part, total in zip(parts, totals, strict=True):
            left = builder.sub(rest, word(part))
            with builder.if_then(builder.icmp_signed(">", left, word(0))):
                within = _spread(builder, builder.trunc(left, PLACES.element))
                chosen = builder.icmp_signed(">", within, PLACES(list(range(WIDTH))))
                add(total, builder.add(full, word(part)), chosen)
        vectors = [builder.load(total) for total in totals]
        while len(vectors) > 1:
            half = len(vectors) // 2
            vectors = [builder.fadd(*pair) for pair in zip(vectors[:half], vectors[half:], strict=True)]
        lanes, half = vectors[0], WIDTH // 2
        while half:
            kind = ir.VectorType(PLACES.element, half)
            first, second = (
                builder.shuffle_vector(lanes, lanes, ir.Constant(kind, list(range(start, start + half))))
                for start in (0, half)
            )
            lanes, half = builder.fadd(first, second), half // 2
        return builder.extract_element(lanes, PLACES.element(0))

    return types.float64(row, weights, *others), write


def _weighted(builder: ir.IRBuilder, number: Value, weight: Value) -> Value:
    return builder.fmul(number, weight)


def _squared(builder: ir.IRBuilder, number: Value, weight: Value, scale: Value, middle: Value) -> Value:
    # One operation or two: the scale is a power of two, or the middle is zero, and nothing is rounded.
    scaled = builder.fmul(number, scale, flags=("contract",))
    apart = builder.fsub(scaled, middle, flags=("contract",))
    return builder.fmul(builder.fmul(apart, apart), weight)


def _doubtful(builder: ir.IRBuilder, number: Value, same: Value) -> Value:
    return builder.fsub(number, same)


def _lane_sum(context: object, row: Type, weights: Type) -> Instruction:
    """The sum of w_k x_k, by lanes."""
    return _added(_weighted, row, weights)


def _lane_square(context: object, row: Type, weights: Type, scale: Type, middle: Type) -> Instruction:
    """The sum of w_k y_k^2, y = scale x - middle, by lanes. The scale is a power of two."""
    return _added(_squared, row, weights, scale, middle)


def _lane_doubt(context: object, row: Type, same: Type) -> Instruction:
    """The sum of x_k - x_k, by lanes: NaN where a number is not finite.

    Written here: of x_k times zero, which may be added in any order, early compilers make zero.
    """
    return _added(_doubtful, row, same)


# As they are called in what is compiled.
fetch = cast("Callable[[Numbers, int], None]", intrinsic(_fetch))
lane_doubt = cast("Callable[[Numbers, Numbers], float]", intrinsic(_lane_doubt))
lane_sum = cast("Callable[[Numbers, Floats], float]", intrinsic(_lane_sum))
lane_square = cast("Callable[[Numbers, Floats, float, float], float]", intrinsic(_lane_square))
lowest = cast("Callable[[np.int64], int]", intrinsic(_lowest))
