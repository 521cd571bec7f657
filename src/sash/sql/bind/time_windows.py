"""Windows of time over the rows of an input: TUMBLE, HOP and CUMULATE add the columns window_start and window_end.

    TUMBLE      [start, start + size), starts every `size`            a Project
    HOP         [start, start + size), starts every `slide`           Unnest of the starts that a row falls under
    CUMULATE    from a start every `size` up to ends every `step`     Unnest of the ends

Starts count from the epoch, moved by the offset if there is one. They keep nothing, and no row leaves because of them: how long
rows live is the business of the input's own window. `window_time` can be named, too: the last millisecond of a window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import time

from sqlglot import exp

from sash.plan.nodes import Plan, Project
from sash.plan.unnest import Unnest
from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import BIGINT, Kind
from sash.sql.bind import literals
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.projections import columns
from sash.sql.bind.scope import Input, Scope
from sash.sql.syntax.text_positions import at, fault
from sash.sql.syntax.time_window_syntax import TimeWindows

_ADDED = ("window_start", "window_end", "window_time")
_MILLISECOND = 1000


@dataclass(frozen=True)
class Lengths:
    """Microseconds: of a window, between windows, and from the epoch to where they begin."""

    size: int
    step: int
    offset: int = 0


def bind_time_windows(node: TimeWindows, item: Input) -> Input:
    """The rows of an input, each with its windows."""
    lengths = lengths_of(node)
    micros = _micros(node.args["timecol"], ExpressionBinder(Scope((item,)), str(node.this)))
    plan, start, end = _FUNCTIONS[node.this](item.plan, micros, lengths)
    times = [_timestamp(part) for part in (start, end, _minus(end, _MILLISECOND))]
    kept = columns(plan)[: len(item.plan.schema)]
    names = (*item.plan.schema.names, *_ADDED)
    return Input(Project(plan, (*kept, *times), names), item.name, item.kind, unstarred=1)


def _tumble(plan: Plan, micros: Expression, lengths: Lengths) -> tuple[Plan, Expression, Expression]:
    start = beginning(micros, lengths.size, lengths.offset)
    return plan, start, _plus(start, lengths.size)


def _hop(plan: Plan, micros: Expression, lengths: Lengths) -> tuple[Plan, Expression, Expression]:
    whole = Unnest(plan, starts(micros, lengths), _ADDED[0])
    start = columns(whole)[-1]
    return whole, start, _plus(start, lengths.size)


def _cumulate(plan: Plan, micros: Expression, lengths: Lengths) -> tuple[Plan, Expression, Expression]:
    start = beginning(micros, lengths.size, lengths.offset)
    first = _plus(beginning(micros, lengths.step, lengths.offset), lengths.step)
    ends = build.call("generate_series", [first, _plus(start, lengths.size), Literal(lengths.step, BIGINT)])
    whole = Unnest(plan, ends, _ADDED[1])
    return whole, start, columns(whole)[-1]


_Windows = Callable[[Plan, Expression, Lengths], tuple[Plan, Expression, Expression]]
_FUNCTIONS: dict[str, _Windows] = {"TUMBLE": _tumble, "HOP": _hop, "CUMULATE": _cumulate}


def starts(micros: Expression, lengths: Lengths) -> Expression:
    """The starts of the windows that a time falls into."""
    first = _plus(beginning(_minus(micros, lengths.size), lengths.step, lengths.offset), lengths.step)
    last = beginning(micros, lengths.step, lengths.offset)
    return build.call("generate_series", [first, last, Literal(lengths.step, BIGINT)])


def beginning(micros: Expression, period: int, offset: int) -> Expression:
    """The last multiple of a period, from the offset on, that is not after a time."""
    since = build.call("pmod", [_minus(micros, offset), Literal(period, BIGINT)])
    return build.call("subtract", [micros, since])


def _plus(micros: Expression, by: int) -> Expression:
    return build.call("add", [micros, Literal(by, BIGINT)])


def _minus(micros: Expression, by: int) -> Expression:
    return build.call("subtract", [micros, Literal(by, BIGINT)]) if by else micros


def _timestamp(micros: Expression) -> Expression:
    return build.call("timestamp_micros", [micros])


def _micros(node: exp.Expr, binder: ExpressionBinder) -> Expression:
    bound = binder.bind(node)
    if bound.type.kind not in (Kind.TIMESTAMP, Kind.DATE):
        raise fault(node, f"windows of time need a TIMESTAMP, but this is {bound.type}")
    with at(node):
        return build.call("unix_micros", [bound])


def lengths_of(node: TimeWindows) -> Lengths:
    size = length(node.args["size"])
    between = node.args.get("slide") or node.args.get("step")
    step = size if between is None else length(between)
    if node.this == "CUMULATE" and size % step:
        raise fault(between, "the size of CUMULATE is a multiple of its step")
    moved = node.args.get("offset")
    return Lengths(size, step, 0 if moved is None else offset(moved))


def length(node: exp.Expr) -> int:
    """Microseconds, more than none."""
    found = literals.interval(node)
    if found is None or found.months or found.micros <= 0:
        hint = "write INTERVAL 10 MINUTES; months have no fixed length"
        raise fault(node, "expected a length of time, longer than nothing", hint)
    return found.micros


def offset(node: exp.Expr) -> int:
    """Where windows begin: an INTERVAL, or a TIME of the day."""
    if (found := literals.interval(node)) is not None and not found.months:
        return found.micros
    try:
        clock = time.fromisoformat(node.name if not isinstance(node, exp.Cast) else node.this.name)
    except ValueError:
        raise fault(node, "expected an offset such as INTERVAL 5 MINUTES") from None
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond
