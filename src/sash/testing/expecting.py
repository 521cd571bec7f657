"""What a job as text expects, against what came."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from sash.errors import SashError, SqlError
from sash.plan.streams import Stamp, StreamSpec
from sash.schema import Schema, Type
from sash.testing.blocks import words
from sash.testing.tables import Change
from sash.testing.values import Row, convert, instant, moment

_CARETS = re.compile(r"\s*\^[\s^]*$")


def compare(expected: Iterable[str], actual: Iterable[str]) -> None:
    """Fail unless both are the same lines, in whatever order; all of what came is shown."""
    came = list(actual)
    wanted, found = Counter(line.strip() for line in expected), Counter(came)
    if wanted != found:
        lines = [f"  missing     {line}" for line in (wanted - found).elements()]
        lines += [f"  unexpected  {line}" for line in (found - wanted).elements()]
        raise AssertionError("\n".join([*lines, "all that came:", *(f"  {line}" for line in came)]))


def check_order(changes: Sequence[Change]) -> None:
    """A changelog goes forward in time, and never takes back what it said of the same instant."""
    if any(one.ts > other.ts for one, other in pairwise(changes)):
        raise AssertionError("the changelog goes back in time")
    gone = {change._replace(op=1) for change in changes if change.op < 0}
    both = gone.intersection(changes)
    if both:
        raise AssertionError(f"a row enters and leaves at one instant: {both.pop()}")


def check_error(expected: str, carets: tuple[int, int, int] | None, error: SashError) -> None:
    """The message, and the place if the test shows it: line, first and last column."""
    said = SashError.__str__(error)
    if expected not in said:
        raise AssertionError(f"the error is another one: {said}")
    if carets is None:
        return
    place = error.place if isinstance(error, SqlError) else None
    if place is None or (*place, place[1] + _length(error) - 1) != carets:
        raise AssertionError(f"the error is at another place:\n{error}")


def _length(error: SashError) -> int:
    """How many carets the error shows."""
    return str(error).splitlines()[-1].count("^")


def without_carets(lines: Sequence[str]) -> tuple[str, tuple[int, int, int] | None]:
    """SQL, and the line and columns that a line of ^^^ below it points at, counted from 1."""
    sql: list[str] = []
    carets = None
    for line in lines:
        if _CARETS.match(line):
            carets = len(sql), line.index("^") + 1, line.rindex("^") + 1
        else:
            sql.append(line)
    return "\n".join(sql), carets


def given_row(line: str, spec: StreamSpec) -> tuple[object, ...]:
    """A row to push: `@1 ann 1`, or all columns in their order. What is no value of its column stays text."""
    values: list[object] = list(words(line))
    if spec.stamp is Stamp.EXTERNAL and str(values[0]).startswith("@"):
        assert spec.timestamp is not None
        first = moment(instant(str(values.pop(0)).removeprefix("@")))
        values.insert(spec.timestamp, first)
    if len(values) != len(spec.schema):
        return tuple(values)
    return tuple(_given(value, type_) for value, type_ in zip(values, spec.schema.types, strict=True))


def _given(value: object, type_: Type) -> object:
    try:
        return convert(value, type_)
    except SashError:
        return value


def typed(row: Sequence[object], schema: Schema) -> Row:
    """A row that came, as rows of tests are."""
    return tuple(convert(value, type_) for value, type_ in zip(row, schema.types, strict=True))
