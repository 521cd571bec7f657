"""Window functions as text, one line for a node."""

from __future__ import annotations

from collections.abc import Callable

from sash.plan.expression_text import duration_text
from sash.plan.over import Frame, Over, OverCall, Unit, WindowFunction
from sash.schema import Kind, Type

Text = Callable[[int], str]  # of a column

_WHOLE = Frame(Unit.RANGE, None, None)
_SO_FAR = Frame(Unit.RANGE, None, 0)
_VALUES = (WindowFunction.NTH_VALUE, WindowFunction.LAST_VALUE)


def call_text(call: OverCall, plan: Over, column: Text, aggregate: str) -> str:
    """`aggregate` is the text of the call if it is one; a frame is written where it is not the usual one."""
    text = aggregate or _function(call, column)
    if isinstance(call.function, WindowFunction) and call.function not in _VALUES:
        return text
    usual = _SO_FAR if plan.order else _WHOLE
    type_ = plan.input.schema.types[plan.order[0].column] if plan.order else None
    return text if call.frame == usual else f"{text} {_frame(call.frame, type_)}"


def _function(call: OverCall, column: Text) -> str:
    assert isinstance(call.function, WindowFunction)
    if call.argument is None:
        return f"{call.name}({call.offset if call.function is WindowFunction.NTILE else ''})"
    parts = [column(call.argument)]
    if call.function is WindowFunction.LAG or (call.function is WindowFunction.NTH_VALUE and call.offset > 1):
        parts.append(str(abs(call.offset)))
    if call.default is not None:
        parts.append(column(call.default))
    name = call.name
    if call.function is WindowFunction.LAG and call.offset < 0:
        name = "LEAD"
    if call.function is WindowFunction.NTH_VALUE and call.offset == 1:
        name = "FIRST_VALUE"
    return f"{name}({', '.join(parts)}){' IGNORE NULLS' if call.ignores_nulls else ''}"


def _frame(frame: Frame, type_: Type | None) -> str:
    start, stop = _bound(frame.unit, frame.start, "PRECEDING", type_), _bound(frame.unit, frame.stop, "FOLLOWING", type_)
    return f"{frame.unit.value} BETWEEN {start} AND {stop}"


def _bound(unit: Unit, offset: int | float | None, unbounded: str, type_: Type | None) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    if offset == 0:
        return "CURRENT ROW"
    length = str(abs(offset))
    if unit is Unit.RANGE and type_ is not None and type_.kind is Kind.TIMESTAMP:
        length = f"INTERVAL {duration_text(int(abs(offset)))}"
    return f"{length} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
