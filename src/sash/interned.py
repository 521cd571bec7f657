"""Nodes of plans, each there once: equal nodes are the same object.

Plans are trees only on paper. An outer join reads its left side three times, a chain of them three times three times …; walked as
a tree, thirty of them would never end. As equal nodes are one object, they are compared and looked up at once, however much lies
below them, and what is found out about a node is found out once (`remembered`).

    class Node(metaclass=Interned)        and every class below it, a frozen dataclass each
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")

NOT_WRITTEN = {"written": False}  # of a field that says something about this process alone
ANSWERS = "_answers"  # what was found out about a node
MANY = 256  # answers of one node: more than one plan asks it for

_KNOWN: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_FIELDS: dict[Any, tuple[str, ...]] = {}  # of classes: nodes are made by the hundred thousand while plans are compared
_LOCK = Lock()


class Interned(type):
    """The kind of classes whose equal instances are one. A class may say with `_identity` what tells its instances apart."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Interned:
        # A dataclass keeps what is there: it would compare, and hash, everything below.
        same = {"__eq__": object.__eq__, "__hash__": object.__hash__, "__reduce__": _rebuilding}
        return super().__new__(cls, name, bases, {**same, **namespace})

    def __call__(cls, *values: Any, **named: Any) -> Any:
        made = super().__call__(*values, **named)
        identity = (cls, *_identity(made))
        with _LOCK:
            return _KNOWN.setdefault(identity, made)


def _identity(node: Any) -> tuple[object, ...]:
    own = getattr(node, "_identity", None)
    return own() if own is not None else tuple([_held_by_nobody(value) for value in _values(node)])


def _held_by_nobody(value: Any) -> Any:
    """A node in an identity is named by its place in memory, which is its own as long as the node above it is there. The node
    itself would be held by all that is known; and with it, if something remembered at it lies above it, both for ever.
    """
    kind = type(value)
    if kind is tuple:
        return tuple(map(_held_by_nobody, value))
    return (Interned, id(value)) if isinstance(kind, Interned) else value


def _values(node: Any) -> tuple[object, ...]:
    cls = type(node)
    names = _FIELDS.get(cls) or _FIELDS.setdefault(cls, tuple(member.name for member in fields(cls)))
    return tuple([getattr(node, name) for name in names])


def _rebuilding(node: Any) -> tuple[object, ...]:
    """A copy from elsewhere is made as all nodes are, so it is the node that is here already, if there is one."""
    return type(node), _values(node)


def remembered(find: Callable[_Asked, _Found]) -> Callable[_Asked, _Found]:
    """The same function of a node, which answers at once what it was asked before. Answers lie at the node, and go with it:
    who makes views and drops them for years keeps none of their plans. A node that outlives many plans forgets now and then.
    """

    @wraps(find)
    def answer(*asked: Any, **named: Any) -> _Found:
        node, key = asked[0], (find, asked[1:], *named.items())
        known: dict[object, _Found] = node.__dict__.setdefault(ANSWERS, {})
        if key in known:
            return known[key]
        found = find(*asked, **named)
        if len(known) >= MANY:
            known.clear()
        known[key] = found
        return found

    return cast(Callable[_Asked, _Found], answer)
