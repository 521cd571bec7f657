"""Work that may go deeper than the stack of whoever asks for it.

Reading and planning a query walk down its tree. A tree that is deeper than Python's stack is walked once more on a larger one,
in a thread of its own. `nesting.py` bounds what a query may nest, so that what runs afterwards, again and again, needs no such
thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, Thread, stack_size
from typing import ParamSpec, TypeVar

from sash.errors import SashError

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")

FRAMES = 60_000  # calls within each other
STACK = 512 << 20  # bytes: some 8 KB for each, of which only what is used takes memory
_LOCK = Lock()  # the size of stacks, and how deep they may be, are settings of the whole process


def deeply(work: Callable[_Asked, _Found]) -> Callable[_Asked, _Found]:
    """The same function, as deep as it needs. It must not mind being called twice, nor in another thread."""

    @wraps(work)
    def done(*values: _Asked.args, **named: _Asked.kwargs) -> _Found:
        try:
            return work(*values, **named)
        except Exception as error:
            if not _is_too_deep(error):
                raise
            return _on_a_large_stack(lambda: work(*values, **named))

    return done


def _is_too_deep(error: BaseException | None) -> bool:
    """Also where the parser has made an error of its own of it."""
    return error is not None and (isinstance(error, RecursionError) or _is_too_deep(error.__cause__))


def _on_a_large_stack(work: Callable[[], _Found]) -> _Found:
    found: list[_Found] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    with _LOCK, _large_stacks():
        thread = Thread(target=run, name="sash, deep", daemon=True)
        thread.start()
        thread.join()
    if not failed:
        return found[0]
    if _is_too_deep(failed[0]):
        raise SashError("the statement is nested too deeply to be read", "name parts of it with WITH or views") from None
    raise failed[0]


@contextmanager
def _large_stacks() -> Iterator[None]:
    size, limit = stack_size(STACK), sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, FRAMES))
    try:
        yield
    finally:
        stack_size(size)
        sys.setrecursionlimit(limit)
