"""Plans from data: makes what `write_plan.py` wrote, and only that.

Only classes that annotations name are made (`plan_classes.py`), every field is there and of its type, and a node is made of nodes
before it. Code of the user is looked up by its name. Whatever else the data says is one clear error.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from sash.errors import SashError
from sash.plan.user_aggregates import UserAggregate
from sash.planner.plan_classes import Classes, check_of, written_classes
from sash.planner.write_plan import VERSION, UserCode

Code = Mapping[str, UserCode]  # what the user has registered, by name in lower case


def from_data(data: object, hint: Any, where: str, code: Code | None) -> Any:
    """A value of an annotation, out of the file or option `where`; without `code`, nobody is going to call any."""
    try:
        return _read(data, hint, code)
    except SashError as error:
        raise SashError(f"{where}: {error.message}", error.hint) from None
    except Exception as error:  # whatever strange data may lead to
        raise unreadable(where, f"{type(error).__name__}: {error}") from None


def json_object(data: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise unreadable(where, str(error)) from None
    if not isinstance(found, dict):
        raise unreadable(where, "it is no object of JSON")
    return found


def unreadable(where: str, reason: str) -> SashError:
    return SashError(
        f"{where} cannot be read ({reason})", "it is damaged, or of another version of Sash; restore it or begin anew"
    )


def _read(data: object, hint: Any, code: Code | None) -> Any:
    if not isinstance(data, dict) or data.keys() != {"version", "nodes", "root"}:
        raise ValueError("it is no plan")
    if data["version"] != VERSION:
        raise ValueError(f"its plans have version {data['version']!r}, and this Sash reads version {VERSION}")
    reader = _Reader(written_classes(hint), code)
    for name, values in data["nodes"]:
        reader.nodes.append(reader.node(name, values))
    found = reader.value(data["root"])
    if not check_of(hint)(found):
        raise ValueError("it is of something else")
    return found


class _Reader:
    """Makes nodes, one after the other."""

    def __init__(self, classes: Classes, code: Code | None) -> None:
        self.nodes: list[object] = []
        self._classes = classes
        self._code = code

    def node(self, name: str, values: dict[str, Any]) -> object:
        known = self._classes.dataclasses.get(name)
        if known is None:
            raise ValueError(f"plans have no {name!r}")
        if values.keys() != known.checks.keys():
            raise ValueError(f"{name} has the fields {sorted(known.checks)}, not {sorted(values)}")
        made = {field: self.value(value) for field, value in values.items()}
        wrong = [field for field, check in known.checks.items() if not check(made[field])]
        if wrong:
            raise ValueError(f"{wrong[0]} of {name} is of another type")
        if issubclass(known.cls, UserCode):
            return self._registered(known.cls(**made, implementation=_Elsewhere))
        node = known.cls(**made)
        for fact in ("schema", "pattern"):  # they cannot be told where columns are named that are not there
            getattr(node, fact, None)
        return node

    def value(self, data: Any) -> Any:
        if data is None or type(data) in (bool, int, str):
            return data
        if isinstance(data, list):
            return tuple(map(self.value, data))
        ((word, told),) = data.items()
        if word == "node":
            if type(told) is not int or not 0 <= told < len(self.nodes):
                raise ValueError(f"there is no node {told!r} before it")
            return self.nodes[told]
        if word == "enum":
            name, member = told
            return self._classes.enums[name][member]
        if word == "set":
            return frozenset(map(self.value, told))
        if word == "map":
            return {self.value(key): self.value(item) for key, item in told}
        return _WORDS[word](told)

    def _registered(self, named: UserCode) -> UserCode:
        """What the user has registered under the name of this."""
        if self._code is None:
            return named
        found = self._code.get(named.name.lower())
        if found is None:
            raise SashError(
                f"the plan calls {_signature(named)}, and no such function is registered",
                f'call db.register("{named.name}", …) before start() or run()',
            )
        if replace(found, name=named.name) != named:
            raise SashError(
                f"the plan calls {_signature(named)}, but {_signature(found)} is registered",
                "register it with the types that it had",
            )
        return found if found.name == named.name else replace(found, name=named.name)


def _signature(code: UserCode) -> str:
    if isinstance(code, UserAggregate):
        return f"your aggregate {code.name} that returns {code.type}"
    return f"your function {code.name}({', '.join(map(str, code.parameters))}) that returns {code.type}"


class _Elsewhere:
    """In the place of code where it is not called, such as in the tasks that read files."""

    def __init__(self, *arguments: object) -> None:
        _not_here()

    def create(self) -> NoReturn:
        _not_here()

    def accumulate(self, state: object, value: object) -> NoReturn:
        _not_here()

    def finish(self, state: object) -> NoReturn:
        _not_here()


def _not_here() -> NoReturn:
    raise SashError("the code of a registered function is not known here")


def _float(data: str) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(data))
    return float(value)


def _datetime(data: str) -> datetime:
    value = datetime.fromisoformat(data)
    if value.tzinfo is not None:
        raise ValueError("instants have no zone")
    return value


_WORDS: Mapping[str, Callable[[Any], object]] = {
    "float": _float,
    "decimal": lambda data: Decimal(str(data)),
    "bytes": bytes.fromhex,
    "datetime": _datetime,
    "date": date.fromisoformat,
    "timedelta": lambda data: timedelta(*data),
    "path": Path,
}
