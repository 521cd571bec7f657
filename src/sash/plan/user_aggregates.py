"""Aggregates that users write in Python.

    class Product:
        def create(self): return 1                              what nothing adds up to
        def accumulate(self, state, value): return state * value
        def finish(self, state): return float(state)            the result, or None for NULL

NULLs are not given to it, and without values the result is NULL. Whenever a group changes, its values are accumulated
anew, in their order, so the result depends on nothing but the bag. Two more methods make that cheaper:

    def retract(self, state, value): return …       undoes `accumulate`, to the last bit, in any order: only what changed is given
    def merge(self, state, other): return …         the state of the values of both, to the last bit, `other` being left as it is:
                                                    of a large group, only the parts that changed are accumulated anew
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from sash.errors import SashError, choices
from sash.interned import NOT_WRITTEN
from sash.schema import Kind, Type

REQUIRED = ("create", "accumulate", "finish")


@dataclass(frozen=True)
class UserAggregate:
    """A class of the user under a name, with the type of its results. It travels inside the plan."""

    name: str
    type: Type
    implementation: Callable[[], Any] = field(repr=False, compare=False)  # a plan is known by its text, after a restart too
    # Another database may have another function of this name; a copy in another process is this one.
    registration: str = field(default_factory=lambda: uuid4().hex, repr=False, compare=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        if self.type.kind is Kind.ARRAY:
            raise SashError(f'aggregate "{self.name}" cannot return {self.type}', "return one of the other types")
        missing = [name for name in REQUIRED if not callable(getattr(self.implementation, name, None))]
        if missing:
            raise SashError(
                f'aggregate "{self.name}" has no {choices(missing)}',
                f"its class needs the methods {choices(REQUIRED)}; retract and merge are welcome",
            )

    @property
    def can_merge(self) -> bool:
        return callable(getattr(self.implementation, "merge", None))

    @property
    def can_retract(self) -> bool:
        return callable(getattr(self.implementation, "retract", None))
