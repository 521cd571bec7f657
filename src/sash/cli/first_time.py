"""The first time: kernels are compiled, once, and the screen says so.

A command that finds none compiled tells that it will take a while, and how far it is. What calls the kernels that it is going to
need may be played beside it, in processes of their own: they compile while Java starts, and workers take what is there, or wait
for what is at hand (`kernels/caching.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context

from sash.kernels.caching import is_any_kept, kept_kernels

EVERY = 10.0  # seconds between two lines about how far it is

Play = tuple[Callable[..., None], tuple[object, ...]]


@contextmanager
def told_of_compiling(say: Callable[[str], None], plays: Sequence[Play] = ()) -> Iterator[None]:
    """Around a command; `plays` are functions of modules, and what they are called with."""
    import sash.runtime.shard  # noqa: F401  by whose kernels it is seen

    if is_any_kept():
        yield
        return
    say("compiling kernels, which is done once and takes a minute or two; the next run begins at once")
    is_over = threading.Event()
    threading.Thread(target=_tell, args=(say, is_over), daemon=True).start()
    processes = [get_context("spawn").Process(target=play, args=values, daemon=True) for play, values in plays]
    try:
        for process in processes:
            process.start()
        yield
    finally:
        is_over.set()
        for process in processes:
            process.terminate()  # what is compiled by now is kept, and nobody waits for the rest


def _tell(say: Callable[[str], None], is_over: threading.Event) -> None:
    told = 0
    while not is_over.wait(EVERY):
        if (kept := kept_kernels()) != told:
            told = kept
            say(f"compiled so far: {kept} kernels")
