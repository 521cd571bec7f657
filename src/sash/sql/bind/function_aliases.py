"""Functions that are other functions in other words.

    TRY_ADD(a, b)                       a + b                       what fails is NULL in any case; so with its like
    DECODE(x, 1, 'a', 2, 'b', 'c')      CASE WHEN x <=> 1 THEN 'a' WHEN x <=> 2 THEN 'b' ELSE 'c' END
    TO_CHAR(t, 'YYYY-MM-DD HH24:MI')    DATE_FORMAT(t, 'yyyy-MM-dd HH:mm'); a pattern of Spark's stays as it is
    TIMESTAMPADD(HOUR, n, t)            t moved by n hours; also DATEADD
    TIMESTAMPDIFF(HOUR, a, b)           how many whole hours from a to b; also DATEDIFF with a unit
    TIMESTAMP_TRUNC(t, HOUR)            DATE_TRUNC('HOUR', t)
"""

from __future__ import annotations

import re

from sqlglot import exp

from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import BIGINT, INT, STRING, TIMESTAMP
from sash.sql.bind.scope import Binder
from sash.sql.syntax.durations import MONTHS, UNITS, unit_name
from sash.sql.syntax.text_positions import at

_OPERATORS = {
    "try_add": "add", "try_subtract": "subtract", "try_multiply": "multiply", "try_divide": "divide", "try_mod": "mod",
}  # fmt: skip
_WORDS = {
    "YYYY": "yyyy", "YY": "yy", "MM": "MM", "DDD": "DDD", "DD": "dd", "HH24": "HH", "HH12": "hh", "HH": "hh", "MI": "mm",
    "SS": "ss", "MS": "SSS", "US": "SSSSSS", "AM": "a", "PM": "a",
}  # fmt: skip
_WORD = re.compile("|".join(_WORDS), re.IGNORECASE)
_FOREIGN = re.compile("YY|(?<!D)DD(?!D)|HH24|HH12|MI")  # no pattern of Spark's has them
_ADDED = ("timestampadd", "dateadd", "date_add")
_BETWEEN = ("timestampdiff", "datediff", "date_diff")


def in_other_words(binder: Binder, node: exp.Anonymous) -> Expression | None:
    """What one of these calls means; None for any other."""
    name, given = node.name.lower(), node.expressions
    if name in _OPERATORS:
        return binder.call(node, _OPERATORS[name], [binder.part(part) for part in given])
    if name == "decode" and len(given) > 2:
        return _decode(binder, node)
    if name == "to_char" and len(given) == 2 and isinstance(given[1], exp.Literal) and given[1].is_string:
        return binder.call(node, "date_format", [binder.part(given[0]), Literal(_pattern(given[1].name), STRING)])
    if name == "timestamp_trunc" and len(given) == 2 and (cut := _unit(given[1])) is not None:
        return binder.call(node, "date_trunc", [Literal(cut, STRING), binder.part(given[0])])
    unit = _unit(given[0]) if len(given) == 3 and name in (*_ADDED, *_BETWEEN) else None
    if unit is None:
        return None
    one, other = (binder.part(part) for part in given[1:])
    with at(node):
        return _moved(unit, one, other) if name in _ADDED else _passed(unit, one, other)


def _decode(binder: Binder, node: exp.Anonymous) -> Expression:
    subject, *rest = (binder.part(part) for part in node.expressions)
    otherwise = rest.pop() if len(rest) % 2 else Literal(None, STRING)
    branches: list[Expression] = []
    for wanted, found in zip(rest[::2], rest[1::2], strict=True):
        branches += [binder.call(node, "null_safe_equal", [subject, wanted]), found]
    return binder.call(node, "case", [*branches, otherwise])


def _pattern(template: str) -> str:
    """A template with words that Spark's patterns do not have, such as YYYY, DD and MI, as one of those."""
    if not _FOREIGN.search(template):
        return template
    return _WORD.sub(lambda word: _WORDS[word[0].upper()], template)


def _unit(node: exp.Expr) -> str | None:
    """The unit of time that a bare word is."""
    if not isinstance(node, exp.Column | exp.Var) or (isinstance(node, exp.Column) and node.table):
        return None
    unit = unit_name(node.name)
    return unit if unit in UNITS | MONTHS else None


def _moved(unit: str, count: Expression, moment: Expression) -> Expression:
    if unit in MONTHS:
        return build.call("add_months_interval", [moment, build.cast(_times(count, MONTHS[unit]), INT)])
    return build.call("add_interval", [build.cast(moment, TIMESTAMP), _times(count, UNITS[unit])])


def _times(count: Expression, length: int) -> Expression:
    return build.call("multiply", [build.cast(count, BIGINT), Literal(length, BIGINT)])


def _passed(unit: str, start: Expression, end: Expression) -> Expression:
    first, last = (build.cast(moment, TIMESTAMP) for moment in (start, end))
    if unit in MONTHS:
        return build.call("div", [_months(first, last), Literal(MONTHS[unit], BIGINT)])
    passed = build.call("subtract", [build.call("unix_micros", [last]), build.call("unix_micros", [first])])
    return build.call("div", [passed, Literal(UNITS[unit], BIGINT)])


def _months(first: Expression, last: Expression) -> Expression:
    """Whole months: one that has begun on a later day, or later on the day, is not yet over."""
    begun = build.call("subtract", [_number(last), _number(first)])
    less = [build.call("less", [_into(last), _into(first)]), build.call("greater", [begun, Literal(0, BIGINT)])]
    more = [build.call("greater", [_into(last), _into(first)]), build.call("less", [begun, Literal(0, BIGINT)])]
    back, forth = (build.call(sign, [begun, Literal(1, BIGINT)]) for sign in ("subtract", "add"))
    return build.call("case", [build.call("and", less), back, build.call("and", more), forth, begun])


def _number(moment: Expression) -> Expression:
    """Of a month, counted from the year 0."""
    years = build.call("multiply", [build.cast(build.call("year", [moment]), BIGINT), Literal(12, BIGINT)])
    return build.call("add", [years, build.cast(build.call("month", [moment]), BIGINT)])


def _into(moment: Expression) -> Expression:
    """How far a month has gone."""
    month = build.call("date_trunc", [Literal("month", STRING), moment])
    return build.call("subtract", [build.call("unix_micros", [moment]), build.call("unix_micros", [month])])
