"""Random scalar expressions and conditions over the columns of some inputs; functions have tests of their own elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from inputs import VALUES

from sash.schema import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Kind, Type

SUMMABLE = (INT, BIGINT, DOUBLE)
COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]


@dataclass(frozen=True)
class Column:
    """A column, as it is written in the query."""

    text: str
    type: Type


@st.composite
def literal(draw: st.DrawFn, type_: Type) -> str:
    values = VALUES.get(type_) or [0, 1]
    value = draw(st.sampled_from(values))
    if type_ in (INT, BOOLEAN):
        return str(value).upper()
    return f"CAST('{value}' AS {type_})"


@st.composite
def expression(draw: st.DrawFn, type_: Type, scope: Sequence[Column]) -> str:
    """Something of this type: mostly a column, if there is one."""
    same = [column.text for column in scope if column.type == type_]
    if not same:
        return draw(st.sampled_from([f"CAST(NULL AS {type_})", draw(literal(type_))]))
    column = draw(st.sampled_from(same))
    more = [f"CASE WHEN {draw(condition(scope, 0))} THEN {column} END", f"COALESCE({column}, {draw(literal(type_))})"]
    if type_ in (INT, BIGINT, DOUBLE):
        more.append(f"{column} + {1 if type_ is not DOUBLE else '0.5D'}")
    if type_ == STRING:
        more += [f"upper({column})", f"concat({column}, '!')"]
    return draw(st.sampled_from([column] * 6 + more))


@st.composite
def condition(draw: st.DrawFn, scope: Sequence[Column], depth: int = 1) -> str:
    way = draw(st.integers(0, 7))
    if way >= 6 and depth:
        one, other = draw(condition(scope, depth - 1)), draw(condition(scope, depth - 1))
        return draw(st.sampled_from([f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})"]))
    column = draw(st.sampled_from(scope))
    if way == 0:
        return f"{column.text} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if way == 1 and column.type == BOOLEAN:
        return column.text
    if way == 2:
        return f"{column.text} IN ({draw(literal(column.type))}, {draw(literal(column.type))})"
    others = [other.text for other in scope if other.type == column.type]
    right = draw(st.sampled_from(others)) if way == 3 else draw(literal(column.type))
    return f"{column.text} {draw(st.sampled_from(COMPARISONS))} {right}"


@st.composite
def equality(draw: st.DrawFn, left: Sequence[Column], right: Sequence[Column]) -> str:
    """A comparison of two columns, one of each side, of one type if there is a pair, else of what can be compared."""
    pairs = [(one, other) for one in left for other in right if one.type == other.type]
    if pairs:
        one, other = draw(st.sampled_from(pairs))
        return f"{one.text} = {other.text}"
    numbers = [(one, other) for one in left for other in right if _is_count(one.type) and _is_count(other.type)]
    if numbers:
        one, other = draw(st.sampled_from(numbers))
        return f"{one.text} = {other.text}"
    one, other = draw(st.sampled_from(left)), draw(st.sampled_from(right))
    return f"CAST({one.text} AS STRING) = CAST({other.text} AS STRING)"


def _is_count(type_: Type) -> bool:
    return type_.is_integer or type_.kind is Kind.DECIMAL
