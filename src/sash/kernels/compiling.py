"""How hot kernels are compiled.

Numba counts references to an array at every call that passes it on, by atomic instructions; in a loop over rows made of
small functions that is most of the time. `kernel` compiles without this runtime: such a function makes no arrays and
gives none back. `inlined` is for the functions of its inner loop, which else would push a dozen arrays per row.

In Python an index below zero counts from the end, so Numba asks of every index whether it is one. No index of a kernel is, and
none is asked (`CountFromTheStart`): a sixth of the time where rows are small. `NUMBA_BOUNDSCHECK=1` finds one that is after all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.core import ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonRewrites

from sash.kernels.caching import KernelCache, can_keep_kernels


@register_pass(mutates_CFG=False, analysis_only=False)
class CountFromTheStart(FunctionPass):  # type: ignore[misc]
    """Take the indexes of all arrays for numbers without sign."""

    _name = "count_from_the_start"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for place, signature in list(state.calltypes.items()):
            is_read = isinstance(place, ir.Expr) and place.op == "getitem"
            if (is_read or isinstance(place, ir.SetItem)) and isinstance(signature.args[0], types.Array):
                array, index, *rest = state.calltypes.pop(place).args
                state.calltypes[place] = signature.replace(args=(array, _without_sign(index), *rest))
        return True


def _without_sign(index: Any) -> Any:
    if isinstance(index, types.BaseTuple):
        return types.BaseTuple.from_types(tuple(map(_without_sign, index)))
    return types.uintp if isinstance(index, types.Integer) else index


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's own, and one pass more."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(CountFromTheStart, NopythonRewrites)
        passes.finalize()
        return [passes]


IS_KEPT = can_keep_kernels()


def _compiler(**options: Any) -> Callable[[Any], Any]:
    compiled = njit(nogil=True, _nrt=False, pipeline_class=KernelCompiler, **options)

    def compile_kernel(function: Any) -> Any:
        made = compiled(function)
        if IS_KEPT:
            made._cache = KernelCache(function)  # as `njit(cache=True)` does it with Numba's own
        return made

    return compile_kernel


def unspecialized(function: Callable[..., Any]) -> Any:
    """A kernel of one form, whatever constants other kernels call it with: Numba would compile one for each of them. It is for
    what takes long to compile and is called once for an answer."""
    made = kernel(function)
    template = made.get_call_template

    def of_any_constants(arguments: Any, named: Any) -> Any:
        return template(tuple(map(types.unliteral, arguments)), {name: types.unliteral(one) for name, one in named.items()})

    made.get_call_template = of_any_constants
    return made


kernel = _compiler()
inlined = _compiler(inline="always")
