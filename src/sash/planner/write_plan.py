"""Plans as data: what a checkpoint, or an option of Spark, holds of a job. Nothing in it can run.

    {"version": 1,
     "nodes": [["Type", {"kind": {"enum": ["Kind", "BIGINT"]}, …}], ["Column", {"index": 0, "type": {"node": 0}, …}], …],
     "root": {"node": 17}}

Every different node is there once, after those that it is made of, so trees that share parts stay small, and share them again
when they are read (`read_plan.py`). What JSON has no word for is an object of one entry: {"float": …} its 64 bits, {"set": …}.

Code of the user is named, with its types, and not written.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PosixPath, WindowsPath
from typing import Any

from sash.plan.user_aggregates import UserAggregate
from sash.planner.plan_classes import Classes, check_of, written_classes
from sash.scalar.user_functions import UserFunction

VERSION = 1
UserCode = UserFunction | UserAggregate
_WORDS: Mapping[type, tuple[str, Callable[[Any], Any]]] = {
    float: ("float", lambda value: struct.pack(">d", value).hex()),
    Decimal: ("decimal", str),
    bytes: ("bytes", bytes.hex),
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    PosixPath: ("path", str),
    WindowsPath: ("path", str),
}


def to_data(value: object, hint: Any) -> dict[str, Any]:
    """A value of an annotation, as JSON can hold it."""
    assert check_of(hint)(value), f"this is no {hint}"
    writer = _Writer(written_classes(hint))
    root = writer.write(value)
    return {"version": VERSION, "nodes": writer.nodes, "root": root}


def user_code(value: object, hint: Any) -> set[UserCode]:
    """The code of the user that a plan calls."""
    writer = _Writer(written_classes(hint))
    writer.write(value)
    return writer.code


class _Writer:
    """Numbers nodes as it meets them, those below first."""

    def __init__(self, classes: Classes) -> None:
        self.nodes: list[Any] = []
        self.code: set[UserCode] = set()
        self._classes = classes
        self._numbers: dict[str, int] = {}  # by what is written: equal is not enough, 0.0 and -0.0 differ
        self._known: dict[int, int] = {}  # by identity; all nodes live as long as what is written

    def write(self, value: object) -> Any:
        """Without recursion: plans may be deep."""
        waiting = [value]
        while waiting:
            last = waiting[-1]
            below = [] if id(last) in self._known else [part for part in self._below(last) if id(part) not in self._known]
            waiting += below
            if not below:
                waiting.pop()
                if is_dataclass(last) and id(last) not in self._known:
                    self._known[id(last)] = self._number(last)
        return self._data(value)

    def _number(self, node: object) -> int:
        known = self._classes.dataclasses[type(node).__name__]
        wrong = [name for name, check in known.checks.items() if not check(getattr(node, name))]
        assert known.cls is type(node) and not wrong, f"{type(node)}: {wrong} are not what is annotated"
        written = [type(node).__name__, {name: self._data(getattr(node, name)) for name in known.checks}]
        text = json.dumps(written)
        if text not in self._numbers:
            self._numbers[text] = len(self.nodes)
            self.nodes.append(written)
        if isinstance(node, UserCode):
            self.code.add(node)
        return self._numbers[text]

    def _below(self, value: object) -> list[object]:
        """The nodes that a value is made of, one step down."""
        if is_dataclass(value):
            names = self._classes.dataclasses[type(value).__name__].checks
            return [node for name in names for node in _nodes(getattr(value, name))]
        return _nodes(value)

    def _data(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if is_dataclass(value):
            return {"node": self._known[id(value)]}
        if isinstance(value, Enum):
            return {"enum": [type(value).__name__, value.name]}
        if isinstance(value, tuple):
            return [self._data(item) for item in value]
        if isinstance(value, frozenset):
            return {"set": sorted((self._data(item) for item in value), key=json.dumps)}
        if isinstance(value, Mapping):
            return {"map": [[self._data(key), self._data(item)] for key, item in value.items()]}
        word, spelled = _WORDS[type(value)]
        return {word: spelled(value)}


def _nodes(value: object) -> list[object]:
    """The nodes in a field."""
    if is_dataclass(value):
        return [value]
    if isinstance(value, Mapping):
        return [node for item in value.values() for node in _nodes(item)]
    return [node for item in value for node in _nodes(item)] if isinstance(value, tuple | frozenset) else []
