"""Expressions as a person would write them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from sash.scalar.nodes import Call, Column, Expression, Literal, Reference

ColumnText = Callable[[Column], str]

_INFIX = {
    "or": ("OR", 1),
    "and": ("AND", 2),
    "equal": ("=", 4),
    "not_equal": ("<>", 4),
    "less": ("<", 4),
    "less_equal": ("<=", 4),
    "greater": (">", 4),
    "greater_equal": (">=", 4),
    "null_safe_equal": ("<=>", 4),
    "like": ("LIKE", 4),
    "ilike": ("ILIKE", 4),
    "rlike": ("RLIKE", 4),
    "add": ("+", 6),
    "subtract": ("-", 6),
    "subtract_timestamps": ("-", 6),
    "multiply": ("*", 7),
    "divide": ("/", 7),
    "div": ("DIV", 7),
    "mod": ("%", 7),
}
_UNITS = (
    ("WEEK", 604_800_000_000),
    ("DAY", 86_400_000_000),
    ("HOUR", 3_600_000_000),
    ("MINUTE", 60_000_000),
    ("SECOND", 1_000_000),
    ("MILLISECOND", 1_000),
    ("MICROSECOND", 1),
)
_SHIFTS = {"add_interval": "+", "subtract_interval": "-"}
_POSTFIX = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL", "is_true": "IS TRUE", "is_false": "IS FALSE"}
_NOT, _POSTFIX_BINDS, _ADDS, _NEGATE, _ATOM = 3, 4, 6, 8, 9


def expression_text(expression: Expression, column: ColumnText = str) -> str:
    """SQL-like text; `column` says how a column is called."""
    return _text(expression, column)[0]


def duration_text(micros: int) -> str:
    """5 MINUTES: in the greatest unit that gives a whole number."""
    unit, size = next((unit, size) for unit, size in _UNITS if micros % size == 0)
    count = micros // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}S"


def _text(expression: Expression, column: ColumnText) -> tuple[str, int]:
    """The text, and how strongly its outermost operator binds."""
    if isinstance(expression, Column):
        return column(expression), _ATOM
    if isinstance(expression, Literal):
        return _literal(expression), _ATOM
    if isinstance(expression, Reference):
        return str(expression), _ATOM
    return _call(expression, column)


def _call(call: Call, column: ColumnText) -> tuple[str, int]:
    parts = call.arguments
    if call.function in _INFIX and (len(parts) == 2 or call.function in ("and", "or")):
        return _infix(call, column)
    if call.function in _SHIFTS and isinstance(parts[1], Literal) and isinstance(parts[1].value, int):
        length = f"INTERVAL {duration_text(parts[1].value)}"
        return f"{_operand(parts[0], column, _ADDS)} {_SHIFTS[call.function]} {length}", _ADDS
    if call.function in _POSTFIX:
        return f"{_operand(parts[0], column, _POSTFIX_BINDS + 1)} {_POSTFIX[call.function]}", _POSTFIX_BINDS
    if call.function == "not":
        return f"NOT {_operand(parts[0], column, _NOT)}", _NOT
    if call.function == "negate":
        return f"-{_operand(parts[0], column, _NEGATE)}", _NEGATE
    if call.function in ("cast", "try_cast"):
        return f"{call.function.upper()}({_operand(parts[0], column, 0)} AS {call.type})", _ATOM
    if call.function == "case":
        return _case(call, column), _ATOM
    if call.function == "in":
        choices = ", ".join(_operand(part, column, 0) for part in parts[1:])
        return f"{_operand(parts[0], column, _POSTFIX_BINDS + 1)} IN ({choices})", _POSTFIX_BINDS
    return f"{call.function}({', '.join(_operand(part, column, 0) for part in parts)})", _ATOM


def _infix(call: Call, column: ColumnText) -> tuple[str, int]:
    """Operators group to the left; a comparison inside a comparison always gets parentheses."""
    symbol, binds = _INFIX[call.function]
    first = binds + 1 if binds == _INFIX["equal"][1] else binds
    operands = [_operand(call.arguments[0], column, first)]
    operands += [_operand(part, column, binds + 1) for part in call.arguments[1:]]
    return f" {symbol} ".join(operands), binds


def _operand(expression: Expression, column: ColumnText, least: int) -> str:
    text, binds = _text(expression, column)
    return text if binds >= least else f"({text})"


def _case(call: Call, column: ColumnText) -> str:
    *branches, otherwise = [_operand(part, column, 0) for part in call.arguments]
    whens = [f"WHEN {branches[n]} THEN {branches[n + 1]}" for n in range(0, len(branches), 2)]
    return " ".join(["CASE", *whens, f"ELSE {otherwise}", "END"])


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value}'"
    return f"DATE '{value}'" if isinstance(value, date) else str(value)
