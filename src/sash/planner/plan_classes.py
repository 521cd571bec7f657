"""The classes that written plans are made of: found in the annotations of fields, beginning with what is written.

A class that is named nowhere in them, however the data calls it, cannot be made by reading. A new spec or node needs no entry: it
is a subclass of one that is named, or named itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import sash.operators
import sash.plan.nodes
from sash.interned import NOT_WRITTEN

Check = Callable[[object], bool]
PLAIN = (type(None), bool, int, float, str, bytes, Decimal, datetime, date, timedelta)


@dataclass(frozen=True)
class WrittenClass:
    """A dataclass, and the check of each of its fields; a field of code is not written."""

    cls: type
    checks: Mapping[str, Check]


@dataclass(frozen=True)
class Classes:
    """All classes by name."""

    dataclasses: Mapping[str, WrittenClass]
    enums: Mapping[str, type[Enum]]


@lru_cache(maxsize=16)
def written_classes(root: Any) -> Classes:
    """Everything that a value of this annotation may be made of."""
    for family in pkgutil.iter_modules(sash.operators.__path__, "sash.operators."):
        if family.ispkg and importlib.util.find_spec(f"{family.name}.spec") is not None:  # some are part of what others do
            importlib.import_module(f"{family.name}.spec")  # so that all subclasses of Spec are known
    found: dict[str, WrittenClass] = {}
    enums: dict[str, type[Enum]] = {}
    waiting = [root]
    while waiting:
        for cls in _classes(waiting.pop()):
            known = found[cls.__name__].cls if cls.__name__ in found else enums.get(cls.__name__)
            if known is not None:
                assert known is cls, f"two classes of written plans are called {cls.__name__}"
            elif issubclass(cls, Enum):
                enums[cls.__name__] = cls
            elif is_dataclass(cls):
                hints = field_hints(cls)
                found[cls.__name__] = WrittenClass(cls, {name: check_of(hint) for name, hint in hints.items()})
                waiting += [*hints.values(), *_subclasses(cls)]
    return Classes(found, enums)


def field_hints(cls: type) -> dict[str, Any]:
    """The annotations of the written fields, as types."""
    hints: dict[str, Any] = {}
    named = {field.name for field in fields(cls)}
    for base in reversed(cls.__mro__):
        own = {name: hint for name, hint in inspect.get_annotations(base).items() if name in named}  # ClassVar is no field
        # Modules name each other's classes for the type checker alone; all of those are in `nodes`.
        names = {**vars(sash.plan.nodes), **vars(sys.modules[base.__module__])}
        hints |= typing.get_type_hints(types.SimpleNamespace(__annotations__=own), globalns=names)
    return {field.name: hints[field.name] for field in fields(cls) if _is_written(field, hints[field.name])}


def check_of(hint: Any) -> Check:
    """Whether a value is of an annotation."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is object:
        return _is_plain
    if origin in (typing.Union, types.UnionType):
        checks = [check_of(argument) for argument in arguments]
        return lambda value: any(check(value) for check in checks)
    if origin is tuple:
        return _check_of_tuple(arguments)
    if origin is frozenset:
        item = check_of(arguments[0])
        return lambda value: isinstance(value, frozenset) and all(map(item, value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = map(check_of, arguments)
        return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(item, value.values()))
    assert isinstance(hint, type) and origin is None, f"{hint} is no annotation of written plans"
    if is_dataclass(hint) or issubclass(hint, Enum | PurePath):
        return lambda value: isinstance(value, hint)
    assert hint in PLAIN, f"{hint} is no annotation of written plans"
    return lambda value: type(value) is hint  # a bool is no int here, nor is a datetime a date


def _check_of_tuple(arguments: tuple[Any, ...]) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = check_of(arguments[0])
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    items = [check_of(argument) for argument in arguments]

    def check(value: object) -> bool:
        is_long_enough = isinstance(value, tuple) and len(value) == len(items)
        return is_long_enough and all(item(part) for item, part in zip(items, value, strict=True))  # type: ignore[call-overload]

    return check


def _is_plain(value: object) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else type(value) in PLAIN


def _is_written(field: Field[Any], hint: Any) -> bool:
    """Code is not, nor what belongs to a process."""
    return field.metadata != NOT_WRITTEN and typing.get_origin(hint) is not Callable


def _classes(hint: Any) -> Iterator[type]:
    arguments = typing.get_args(hint)
    if not arguments and isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum)):
        yield hint
    for argument in arguments:
        yield from _classes(argument)


def _subclasses(cls: type) -> list[type]:
    found: list[type] = cls.__subclasses__()
    return [one for one in found if one.__module__.startswith("sash.")]
