"""The counter of the processor, as a kernel reads it: a clock for pieces of work that are too short for any other."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def cycles(typing: Any) -> Any:
    """Ticks since some beginning; how long one is differs between machines, so only ratios mean something."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=form), [])

    return types.int64(), generate
