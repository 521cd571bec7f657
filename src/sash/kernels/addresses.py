"""Memory by its address: for kernels that read what other libraries have laid out."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD, _HALF, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)


def _loader(kind: Any) -> Any:
    """A function of an address and a place: the integer there, as 64 bits with its sign."""

    @intrinsic
    def load(typing: Any, address: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], kind.as_pointer())
            value = builder.load(builder.gep(pointer, [arguments[1]]), align=1)
            return value if kind is _WORD else builder.sext(value, _WORD)

        return types.int64(types.int64, types.int64), generate

    return load


word_at, half_at, byte_at = _loader(_WORD), _loader(_HALF), _loader(_BYTE)
