"""Two instructions of processors that Python has no word for: fetch ahead, and the place of a bit.

Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

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


fetch: Any = intrinsic(_fetch)
lowest: Any = intrinsic(_lowest)
