"""Questions that differ in constants alone are parsed and bound once.

    SELECT * FROM v WHERE k = 1234      template   SELECT * FROM v WHERE k = ?        constants   1234
    SELECT * FROM v WHERE k = 77                   the same                                       77

A template is made by binding its text with constants that nobody writes. It serves if each of them is found in the plan just
once, where a column is compared with it, and the column is of a type for which any constant of that kind is bound alike. Whatever
else is asked is bound as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from sash.database.constants import KINDS, Constant, parted, rewritten, strange, value_of, written
from sash.database.selection import Selection
from sash.errors import SashError
from sash.runtime.access import Wanted
from sash.scalar.nodes import Call, Column, Literal, leaves

MOST = 256  # templates that are known
Value = TypeVar("Value")


@dataclass(frozen=True)
class Template:
    """A selection whose conditions at some places compare with the constants of a text, one by one."""

    selection: Selection
    places: tuple[int, ...]

    @cached_property
    def columns(self) -> tuple[int, ...] | None:
        """Which columns are equal to the constants, if each of them is named by no other condition."""
        found = [self.selection.conditions[place].arguments[0] for place in self.places]
        columns = tuple(column.index for column in found if isinstance(column, Column))
        are_equal = all(self.selection.conditions[place].function == "equal" for place in self.places)
        named = [leaf.index for part in self.selection.filters for leaf in leaves(part) if isinstance(leaf, Column)]
        return columns if are_equal and all(named.count(column) == 1 for column in columns) else None

    def refilled(self, wanted: Wanted, constants: Sequence[Constant]) -> Wanted | None:
        """What the text with these constants wants, if that can be told from what the template wants."""
        if self.columns is None:
            return None
        types = self.selection.layout.schema.types
        values = [value_of(constant, types[column]) for constant, column in zip(constants, self.columns, strict=True)]
        return wanted.refilled(dict(zip(self.places, zip(self.columns, values, strict=True), strict=True)))

    def filled(self, constants: Sequence[Constant]) -> Selection:
        """The selection that the text with these constants is."""
        old = self.selection
        conditions = list(old.conditions)
        for place, constant in zip(self.places, constants, strict=True):
            conditions[place] = _with_constant(conditions[place], constant)
        return replace(old, conditions=tuple(conditions), filters=(*conditions, *old.filters[len(conditions) :]))


class Templates:
    """Those that were met, by their texts; None: such texts are bound one by one."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Template | None] = OrderedDict()
        self._met: OrderedDict[str, None] = OrderedDict()  # once; what is asked only once needs no template

    def forget(self) -> None:
        self._known.clear()
        self._met.clear()

    def found(self, sql: str, bind: Callable[[str], Selection | None]) -> tuple[Template, list[Constant]] | None:
        """The template of a text, and its constants, if it has one; `bind` says what any text asks."""
        text, constants = parted(sql)
        if not constants:
            return None
        if text not in self._known and not self._is_met(text):
            return None
        if text not in self._known:
            _put(self._known, text, _template(sql, constants, bind))
        template = self._known[text]
        return None if template is None else (template, constants)

    def _is_met(self, text: str) -> bool:
        if text in self._met:
            return True
        _put(self._met, text, None)
        return False


def _put(entries: OrderedDict[str, Value], text: str, value: Value) -> None:
    entries[text] = value
    if len(entries) > MOST:
        entries.popitem(last=False)


def _template(sql: str, constants: Sequence[Constant], bind: Callable[[str], Selection | None]) -> Template | None:
    others = [strange(place, constant) for place, constant in enumerate(constants)]
    try:
        selection = bind(rewritten(sql, map(written, others)))
    except SashError:
        return None
    if selection is None:
        return None
    said = repr(selection.question)
    if any(said.count(str(abs(one)) if isinstance(one, int) else one) != 1 for one in others):
        return None
    places = [_place(selection.conditions, constant) for constant in others]
    found = tuple(place for place in places if place is not None)
    return Template(selection, found) if len(found) == len(others) else None


def _place(conditions: Sequence[Call], constant: Constant) -> int | None:
    """Which condition compares a column with this constant, if any constant of its kind can stand there."""
    for place, condition in enumerate(conditions):
        column, *others = condition.arguments
        literal = others[0] if len(others) == 1 else None
        if isinstance(column, Column) and isinstance(literal, Literal) and literal.value == constant:
            return place if literal.type == column.type and column.type.kind in KINDS[type(constant)] else None
    return None


def _with_constant(condition: Call, constant: Constant) -> Call:
    column = condition.arguments[0]
    return replace(condition, arguments=(column, Literal(value_of(constant, column.type), column.type)))
