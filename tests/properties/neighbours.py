"""Random queries whose rows look at their neighbours: window functions and ASOF joins."""

from __future__ import annotations

from collections.abc import Sequence

from expressions import SUMMABLE, Column, equality
from hypothesis import strategies as st

from sash.schema import BIGINT, BOOLEAN, Kind, Type

FRAMES = (
    "", "", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING", "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
)  # fmt: skip
RANKS = ("ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(2)")


@st.composite
def window_call(draw: st.DrawFn, column: Column, sum_type: Type) -> tuple[str, Type, bool]:
    """A function of a column, its type, and whether it takes a frame."""
    text = column.text
    choices = [(rank, BIGINT, False) for rank in RANKS]
    choices += [(f"{name}({text}{offset})", column.type, False) for name in ("LAG", "LEAD") for offset in ("", ", 2")]
    choices += [("COUNT(*)", BIGINT, True), (f"COUNT({text})", BIGINT, True)]
    choices += [(f"{name}({text})", column.type, True) for name in ("MIN", "MAX")]
    if column.type in SUMMABLE or column.type.kind is Kind.DECIMAL:
        choices += [(f"SUM({text})", sum_type, True)] * 3
    return draw(st.sampled_from(choices))


@st.composite
def over(draw: st.DrawFn, columns: Sequence[Column], order: str, sum_type: Type, argument: Column) -> tuple[str, Type]:
    """A window function over a query with these columns."""
    call, type_, has_frame = draw(window_call(argument, sum_type))
    partition = f"PARTITION BY {draw(st.sampled_from(columns)).text} " if draw(st.booleans()) else ""
    frame = draw(st.sampled_from(FRAMES)) if has_frame else ""
    return f"{call} OVER ({partition}ORDER BY {order} {frame})", type_


@st.composite
def nearness(draw: st.DrawFn, left: Sequence[Column], right: Sequence[Column]) -> str | None:
    """The condition of an ASOF join, if there is something to compare."""
    pairs = [(one, other) for one in left for other in right if one.type == other.type and one.type != BOOLEAN]
    if not pairs:
        return None
    one, other = draw(st.sampled_from(pairs))
    keys = [draw(equality(left, right))] if draw(st.booleans()) else []
    return " AND ".join([*keys, f"{one.text} {draw(st.sampled_from(['>=', '>', '<=', '<']))} {other.text}"])
