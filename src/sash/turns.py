"""Turns: many threads may use one database, one of them at a time.

    public method     takes a turn; turns of one thread nest, another thread waits
    engine at work    marked inside a turn: code of the user that runs there cannot come back into the database
    rest at work      in the middle of long work what it has given may be taken, and a view read that is through; nothing else
    failed at work    the state may be half changed: every later turn is refused, with the reason

Code of the user that is no part of the work (`on_batch`, the reader of a subscription) runs outside of turns, so it may do
whatever it likes, wait for other threads included.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sash.errors import SashError
from sash.interrupts import InterruptsWait

REST = 0.001  # seconds that others have to begin a turn while work rests; it goes on when theirs is over

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Turns:
    """The lock of a database, and why it is not to be used any more."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._worker: int | None = None  # the thread that is at work
        self._waiting = self._hoping = 0  # threads that wait for anything; those that take what work has given
        self._takers: set[int] = set()  # threads that want to
        self.wishes: dict[int, str] = {}  # by thread: the name of a view that is to be read as soon as it is through
        self.works = 0  # how often something has changed
        self._refusal: tuple[str, str] | None = None
        self._is_closed = False
        self._work = Work(self)  # the same for every block: none is inside of another

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Alone with the database."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Begin a turn: wait until all others are over."""
        self._changed.acquire()
        if self._worker is not None or self._refusal is not None:
            try:
                self._wait_for_work(lambda: False)
                self.check()
            except SashError:
                self._changed.release()
                raise

    @contextmanager
    def reading(self, view: str, is_through: Callable[[], bool]) -> Iterator[None]:
        """A turn that reads a view, perhaps while work rests: once the view has its part of it, which now comes first."""
        me = threading.get_ident()
        self.wishes[me] = view
        self._changed.acquire()
        try:
            self._wait_for_work(is_through)
            del self.wishes[me]
            if self._worker in (None, me):
                self.check()
            yield
        finally:
            self.wishes.pop(me, None)
            self._changed.release()

    def _wait_for_work(self, is_enough: Callable[[], bool]) -> None:
        """While another thread's work rests: until it is over, or enough."""
        while self._worker not in (None, threading.get_ident()) and not is_enough():
            self._wait(None)

    def leave(self) -> None:
        self._changed.release()

    def enter_last(self) -> None:
        """Begin a turn that is there after the database was closed too, and while work rests, for what nobody has read yet."""
        me = threading.get_ident()
        self._takers.add(me)
        self._changed.acquire()
        self._takers.discard(me)
        if not self._is_closed and (self._worker is not None or self._refusal is not None):
            try:
                self.check()
            except SashError:
                self._changed.release()
                raise

    @contextmanager
    def last_turn(self) -> Iterator[None]:
        """The same as a block."""
        self.enter_last()
        try:
            yield
        finally:
            self.leave()

    def work(self) -> Work:
        """Inside a turn: the state changes, wholly or not at all."""
        return self._work

    def begin_work(self) -> None:
        self._worker = threading.get_ident()

    def rest(self) -> None:
        """In the middle of work: those have their turns who only take or read what it has given."""
        if self._takers or self._hoping or self.wishes:
            self.works += 1
            self._changed.notify_all()
            self._wait(REST)

    def end_work(self, failure: BaseException | None) -> None:
        if failure is not None:
            why = failure.message if isinstance(failure, SashError) else f"{type(failure).__name__}: {failure}"
            way = failure.hint if isinstance(failure, SashError) and failure.hint else "mend the cause"
            self._refusal = (f"the database stopped in the middle of its work: {why}", f"{way}; then connect again")
        self._worker = None
        self.works += 1
        self.notify()

    @contextmanager
    def look(self) -> Iterator[None]:
        """Inside a turn: code of the user may be called, but nothing changes."""
        before, self._worker = self._worker, threading.get_ident()
        try:
            yield
        finally:
            self._worker = before

    def close(self) -> None:
        """Nobody has a turn any more; whoever waits is told. What failed can be closed, too."""
        with self._changed:
            self._wait_for_work(lambda: False)
            self._check_not_at_work()
            self._refusal, self._is_closed = self._refusal or ("the database is closed", "connect again"), True
            self._changed.notify_all()

    def check(self) -> None:
        self._check_not_at_work()
        if self._refusal is not None:
            raise SashError(*self._refusal)

    def _check_not_at_work(self) -> None:
        if self._worker == threading.get_ident():
            raise SashError("code that a query calls cannot use the database that calls it", "use a database of its own")

    def notify(self) -> None:
        """Inside a turn: something that others wait for may have come."""
        if self._waiting:
            self._changed.notify_all()

    def wait_for(self, is_there: Callable[[], bool], timeout: float | None) -> None:
        """Inside a turn, but others have theirs meanwhile: until it is there, or nothing will come any more, or in vain."""
        if is_there() or timeout == 0:
            return
        end = None if timeout is None else time.monotonic() + timeout
        while not self._is_closed:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            self._hoping += 1
            try:
                self._wait(left)
            finally:
                self._hoping -= 1
            if not self._is_closed:
                self.check()
            if is_there():
                return

    def _wait(self, seconds: float | None) -> None:
        self._waiting += 1
        try:
            self._changed.wait(seconds)
        finally:
            self._waiting -= 1


class Work:
    """Work as a block, in which interrupts wait. Written out, as steps are many and small."""

    __slots__ = ("_interrupts", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns, self._interrupts = turns, InterruptsWait()

    def __enter__(self) -> None:
        self._interrupts.__enter__()
        self._turns.begin_work()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._turns.end_work(error)
        self._interrupts.__exit__(kind, error, trace)


class TakesTurns(Protocol):
    """Whatever has public methods in turns."""

    @property
    def turns(self) -> Turns: ...


Owner = TypeVar("Owner", bound=TakesTurns)


def in_turn(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """A method that is whole: no other method of the same database runs at the same time."""

    @functools.wraps(method)
    def whole(self: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        turns = self.turns
        turns.enter()
        try:
            return method(self, *args, **kwargs)
        finally:
            turns.leave()

    return whole
