"""Views that differ in constants and in the lengths of windows alone are parsed and bound once.

    … FROM s [RANGE 5 SECONDS] WHERE k = 17 AND v > 3       template    … FROM s [?range] WHERE k = ?number AND v > ?number
                                                            filled      the plan of it with 5 seconds, 17 and 3 in their places

The second view of a kind makes a template: its text is bound with constants (`constants.py`) and windows that nobody writes. It
serves if these are found in the plan only as windows, and where a column is compared with them, of a type for which any constant
of that kind is bound alike. How a plan is run is chosen for every view by itself. Which of them are equal belongs to the kind:
what is written twice in a query is computed once.

A template means what its text meant when it was made: it goes when anything but one more view is declared.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sash.database.constants import KINDS, NUMBER, TEXT, Constant, parted, rewritten, strange, value_of, written
from sash.errors import SashError
from sash.plan.nodes import Plan, Window
from sash.plan.rewrite import over_parts
from sash.plan.windows import RangeWindow
from sash.scalar import nodes
from sash.scalar.nodes import Call, Column, Expression, Literal
from sash.schema import END, SECOND
from sash.sql.catalog import ViewDefinition
from sash.sql.syntax.durations import UNITS, unit_name
from sash.tree import CHILDREN, rebuild

MOST = 256  # templates that are known
_OUTSIDE = ("--", "/*", ";")  # what may follow a query, and is no part of its text then
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_STRANGE = str(NUMBER)[:6]  # what all numbers have that nobody writes
_LENGTH = r"([0-9]{1,9})\s+([A-Z]+)"
_WINDOW = re.compile(rf"\[\s*RANGE\s+{_LENGTH}(?:\s+SLIDE\s+{_LENGTH})?\s*\]", re.IGNORECASE)
_SLIDES = 10  # of a window that nobody writes

Kind = tuple[str, tuple[int, ...]]  # a text without all that; of each the place of the first one that equals it
Filling = Constant | RangeWindow
Bind = Callable[[str], ViewDefinition]


class ViewTemplates:
    """Those that were met; None: such views are bound one by one."""

    def __init__(self) -> None:
        self._known: OrderedDict[Kind, ViewDefinition | None] = OrderedDict()
        self._met: OrderedDict[Kind, None] = OrderedDict()  # by one view; one alone needs no template

    def forget(self) -> None:
        self._known.clear()
        self._met.clear()

    def learn(self, query: str) -> None:
        """A view of this query was created."""
        kind, _ = _parted(query)
        if kind[1] and kind not in self._known:
            _put(self._met, kind, None)

    def found(self, query: str, bind: Bind) -> ViewDefinition | None:
        """What a view of a query is, but for its name, if others like it are known; `bind` says what any query comes to."""
        kind, fillings = _parted(query)
        if kind not in self._known:
            if kind not in self._met:
                return None
            _put(self._known, kind, _template(query, bind))
        template = self._known[kind]
        if template is None:
            return None
        plan = _filled(template.plan, dict(zip(_strange(fillings), fillings, strict=True)))
        return replace(template, plan=plan, sql=query)


def _put(entries: OrderedDict[Kind, Any], kind: Kind, value: ViewDefinition | None) -> None:
    entries[kind] = value
    if len(entries) > MOST:
        entries.popitem(last=False)


def _parted(query: str) -> tuple[Kind, list[Filling]]:
    """Of which kind a query is, and its constants and windows."""
    windows: list[RangeWindow] = []

    def kept(found: re.Match[str]) -> str:
        window = _window(found)
        if window is None:
            return found[0]
        windows.append(window)
        return "[?slide]" if window.slide else "[?range]"

    text, constants = parted(query)
    text = _WINDOW.sub(kept, text) if "?" not in query else text
    fillings = [*constants, *windows]
    return (text, _firsts(fillings)), fillings


def _window(found: re.Match[str]) -> RangeWindow | None:
    """The window that is written there, if it is one."""
    size, slide = (_length(*found.group(place, place + 1)) for place in (1, 3))
    if not 0 < size < END or (found[3] is not None and (slide == 0 or size % slide)):
        return None
    return RangeWindow(size, slide)


def _length(number: str | None, unit: str | None) -> int:
    """In microseconds; 0 of none."""
    return 0 if number is None or unit is None else int(number) * UNITS.get(unit_name(unit), 0)


def _firsts(fillings: Sequence[Filling]) -> tuple[int, ...]:
    return tuple(fillings.index(one) for one in fillings)


def _strange(fillings: Sequence[Filling]) -> list[Filling]:
    """Others of the same kinds that nobody writes, equal where these are."""
    return [_stranger(place, one) for place, one in zip(_firsts(fillings), fillings, strict=True)]


def _stranger(place: int, one: Filling) -> Filling:
    if not isinstance(one, RangeWindow):
        return strange(place, one)
    length = (NUMBER + place) * SECOND
    return RangeWindow(_SLIDES * length, length) if one.slide else RangeWindow(length)


def _rewritten(query: str, fillings: Sequence[Filling]) -> str:
    """A query with others in the places of its constants and windows."""
    windows = iter([one for one in fillings if isinstance(one, RangeWindow)])

    def other(found: re.Match[str]) -> str:
        if _window(found) is None:
            return found[0]
        one = next(windows)
        slide = f" SLIDE {one.slide // SECOND} SECONDS" if one.slide else ""
        return f"[RANGE {one.size // SECOND} SECONDS{slide}]"

    return _WINDOW.sub(other, rewritten(query, [written(one) for one in fillings if not isinstance(one, RangeWindow)]))


def _template(query: str, bind: Bind) -> ViewDefinition | None:
    """What the query comes to with what nobody writes, if anything else can stand in its place: filled with something else that
    nobody writes, it is what the query with that comes to."""
    (text, _), fillings = _parted(query)
    if any(mark in text for mark in _OUTSIDE) or any(mark in query for mark in (_STRANGE, TEXT)):
        return None
    strangers = _strange(fillings)
    others = {one: _stranger(len(fillings) + place, one) for place, one in enumerate(dict.fromkeys(strangers))}
    try:
        view = bind(_rewritten(query, strangers))
        with_others = bind(_rewritten(query, [others[one] for one in strangers]))
    except SashError:
        return None
    are_plain = set(_places(view.plan)) == set(others) and _filled(view.plan, others) == with_others.plan
    return view if are_plain else None


def _places(plan: Plan) -> Iterator[Filling | None]:
    """What nobody writes in all that a plan is made of; None for what must stay as it is."""
    seen: set[int] = set()
    waiting: list[Any] = [plan]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        if (compared := _compared(one)) is not None:
            seen.add(id(one))
            yield compared
            waiting += [one.arguments[0], one.type]
        elif isinstance(one, Window) and (shape := _strange_window(one)) is not None:
            seen.add(id(one))
            yield shape
            waiting += [getattr(one, field.name) for field in fields(one) if field.name != "shape"]
        elif is_dataclass(one) and not isinstance(one, type):
            seen.add(id(one))
            waiting += [getattr(one, field.name) for field in fields(one)]
        elif isinstance(one, tuple | list | frozenset):
            waiting += one
        elif _STRANGE in str(one) or TEXT in str(one):
            yield None


def _compared(one: object) -> Constant | None:
    """The constant that nobody writes which a condition compares a column with, if any constant of its kind can stand there."""
    if not isinstance(one, Call) or one.function not in _COMPARISONS:
        return None
    column, literal = one.arguments
    if not isinstance(column, Column) or not isinstance(literal, Literal) or literal.type != column.type:
        return None
    value = literal.value
    if isinstance(value, str) and value.startswith(TEXT):
        return value if column.type.kind in KINDS[str] else None
    is_number = isinstance(value, int | float) and str(abs(int(value))).startswith(_STRANGE)
    return int(value) if is_number and isinstance(value, int | float) and column.type.kind in KINDS[int] else None


def _strange_window(window: Window) -> RangeWindow | None:
    """Its shape, if that is one that nobody writes."""
    shape = window.shape
    return shape if isinstance(shape, RangeWindow) and _STRANGE in str(shape.size) else None


def _filled(plan: Plan, values: Mapping[Filling, Filling]) -> Plan:
    """The same plan with other constants where columns are compared with some, and other windows."""

    def condition(part: Expression) -> Expression | None:
        compared = _compared(part)
        if compared is None or compared not in values or not isinstance(part, Call):
            return None
        column, value = part.arguments[0], values[compared]
        assert not isinstance(value, RangeWindow), "a constant is filled by a constant"
        return replace(part, arguments=(column, Literal(value_of(value, column.type), column.type)))

    def node(part: Plan, changed: Callable[[Plan], Plan]) -> Plan:
        rebuilt = _with_expressions(rebuild(part, changed), lambda one: nodes.replaced(one, condition))
        shape = values.get(rebuilt.shape) if isinstance(rebuilt, Window) and isinstance(rebuilt.shape, RangeWindow) else None
        return replace(rebuilt, shape=shape) if isinstance(rebuilt, Window) and isinstance(shape, RangeWindow) else rebuilt

    return over_parts(plan, node)


def _with_expressions(part: Plan, change: Callable[[Expression], Expression]) -> Plan:
    """A node over other expressions, as far as its own fields are some."""
    found: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in CHILDREN:
            continue
        if isinstance(value, Call):
            found[field.name] = change(value)
        elif isinstance(value, tuple) and any(isinstance(one, Call) for one in value):
            found[field.name] = tuple(change(one) if isinstance(one, Call) else one for one in value)
    changed = {name: value for name, value in found.items() if value != getattr(part, name)}
    return replace(part, **changed) if changed else part
