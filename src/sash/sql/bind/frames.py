"""The frame of a window function: ROWS, RANGE or GROUPS BETWEEN two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from sash.plan.over import Frame, Unit
from sash.scalar.nodes import Literal
from sash.schema import Kind, Type
from sash.sql.bind import literals
from sash.sql.bind.conditions import constant
from sash.sql.bind.ordering import Ordering
from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.durations import UNITS
from sash.sql.syntax.text_positions import fault

if TYPE_CHECKING:
    from sash.sql.bind.expressions import ExpressionBinder

_DAY = UNITS["DAY"]
_FARTHEST = 2**62


def bind_frame(node: exp.Window, order: Sequence[Ordering], binder: ExpressionBinder) -> Frame:
    """Without one: up to the row's peers where there is an order, else the whole partition."""
    spec = node.args.get("spec")
    if spec is None:
        return Frame(Unit.RANGE, None, 0 if order else None)
    if spec.args.get("exclude"):
        raise not_yet(node, "EXCLUDE in a frame")
    only(spec, ("kind", "start", "start_side", "end", "end_side"))
    unit = Unit[str(spec.args["kind"]).upper()]
    bounds = _Bounds(node, unit, order, binder)
    start = bounds.offset(spec.args.get("start"), _word(spec.args.get("start_side")), "PRECEDING")
    stop = bounds.offset(spec.args.get("end") or "CURRENT ROW", _word(spec.args.get("end_side")), "FOLLOWING")
    if _side(spec, "start") > _side(spec, "end"):
        raise fault(node, "this frame ends before it begins")
    return Frame(unit, start, stop)


def _side(spec: exp.Expr, bound: str) -> int:
    """Before, at or after the row at hand. On one side of it a frame may be empty, as BETWEEN 1 PRECEDING AND 2 PRECEDING is."""
    if spec.args.get(bound) in (None, "CURRENT ROW"):
        return 0
    return -1 if _word(spec.args.get(f"{bound}_side")) == "PRECEDING" else 1


def _word(written: object) -> str:
    return str(written or "").upper()


class _Bounds:
    def __init__(self, node: exp.Window, unit: Unit, order: Sequence[Ordering], binder: ExpressionBinder) -> None:
        self.node, self.unit, self.order, self.binder = node, unit, order, binder

    def offset(self, bound: exp.Expr | str | None, side: str, outward: str) -> int | float | None:
        if bound == "UNBOUNDED":
            if side != outward:
                raise fault(self.node, f"a frame cannot {'start' if outward == 'PRECEDING' else 'end'} at UNBOUNDED {side}")
            return None
        if bound == "CURRENT ROW":
            return 0
        assert isinstance(bound, exp.Expr)
        found = self._distance(bound) if self.unit is Unit.RANGE else self._whole(bound)
        return -found if side == "PRECEDING" else found

    def _whole(self, node: exp.Expr) -> int:
        value = constant(self.binder.bind(node))
        if value is None or not isinstance(value.value, int) or isinstance(value.value, bool) or not 0 <= value.value < _FARTHEST:
            hint = "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
            raise fault(node, f"a frame takes a whole number of {self.unit.value}", hint)
        return value.value

    def _distance(self, node: exp.Expr) -> int | float:
        """How far values may be away, in the units of what is ordered by."""
        if len(self.order) != 1:
            raise fault(node, "RANGE with an offset needs one expression in ORDER BY", "use ROWS, or order by one number or time")
        type_ = self.order[0].expression.type
        length = literals.interval(node)
        if length is not None:
            return self._time(node, length, type_)
        value = constant(self.binder.bind(node))
        number = value.value if isinstance(value, Literal) and value.type.is_number else None
        if not isinstance(number, int | float | Decimal) or number < 0:
            raise fault(node, "a RANGE offset is a constant number, or an INTERVAL, and not negative")
        return self._number(node, number, type_)

    def _time(self, node: exp.Expr, length: literals.Interval, type_: Type) -> int:
        if length.months:
            raise fault(node, "months have no fixed length", "use DAYS")
        if type_.kind not in (Kind.TIMESTAMP, Kind.DATE):
            raise fault(node, f"an INTERVAL needs a TIMESTAMP or a DATE in ORDER BY, but this is {type_}")
        if length.micros < 0:
            raise fault(node, "a RANGE offset cannot be negative")
        if type_.kind is Kind.TIMESTAMP:
            return length.micros
        if length.micros % _DAY:
            raise fault(node, "a DATE has no parts of days", "use DAYS, or order by a TIMESTAMP")
        return length.micros // _DAY

    def _number(self, node: exp.Expr, number: int | float | Decimal, type_: Type) -> int | float:
        if type_.kind is Kind.DOUBLE:
            return float(number)
        if type_.kind is Kind.TIMESTAMP or not (type_.is_number or type_.kind is Kind.DATE):
            hint = "use ROWS, or an INTERVAL for a TIMESTAMP"
            raise fault(node, f"a RANGE offset of this kind does not fit {type_} in ORDER BY", hint)
        if type_.lanes > 1:
            hint = "cast it to DECIMAL(18, 2), or use ROWS"
            raise fault(node, f"RANGE with an offset needs at most 18 digits, but this is {type_}", hint)
        scaled = Decimal(str(number)) * 10 ** (type_.scale if type_.kind is Kind.DECIMAL else 0)
        if scaled != int(scaled) or scaled >= _FARTHEST:
            raise fault(node, f"this RANGE offset does not fit {type_}", "write a number with as many digits")
        return int(scaled)
