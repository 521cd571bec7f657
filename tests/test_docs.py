"""The page of functions is what the registry holds. To write it anew: SASH_WRITE_DOCS=1 pytest tests/test_docs.py

The pages on Python, asking and messages say what their examples print; that on Python names every public method."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from sash.database.database import Database
from sash.scalar.functions import FUNCTIONS
from sash.sql.bind.aggregate_functions import NAMES
from sash.sql.bind.over import WINDOW_FUNCTIONS
from sash.sql.bind.pair_statistics import STATISTICS

PAGE = Path(__file__).parent.parent / "docs" / "functions.md"
OPERATORS = {
    "add", "subtract", "multiply", "divide", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "null_safe_equal", "and", "or", "not", "is_null", "is_not_null", "is_true", "is_false", "in", "case", "cast", "try_cast", "only_row",
    "add_interval", "subtract_interval", "add_months_interval", "subtract_timestamps", "count_from", "count_after", "period_from",
    "period_after", "start of session", "end of session",
}  # fmt: skip
HEAD = """# Functions

What SQL in Sash can call. They mean what they mean in Spark SQL; one that fails on a row gives NULL there and is counted.
Operators are `+ - * / % || = <> < <= > >= <=> AND OR NOT IS [NOT] NULL IN BETWEEN LIKE ILIKE RLIKE CASE CAST TRY_CAST`, and
`+` and `-` of times and INTERVALs; rows of values compare, `(a, b) IN ((1, 2), (3, 4))`; `LIKE ANY (…)` and `LIKE ALL (…)` take several
patterns. `DECODE(x, 1, 'a', 'b')` is a CASE; `TRY_ADD`, `TRY_SUBTRACT`, `TRY_MULTIPLY`, `TRY_DIVIDE` and `TRY_MOD` are the operators.
Your own functions and aggregates: `db.register`, `CREATE AGGREGATE`.

Types are BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(p, s), STRING, TIMESTAMP, DATE and ARRAY of them. FLOAT, REAL, TINYINT, SMALLINT, BYTE and
SHORT are refused, in declarations and in CAST: they round and overflow where DOUBLE and INT do not.

"""

TIME = """`now()`, `current_timestamp` and `current_date` are the time of the query, which moves.

In a comparison with a time or a number that does not depend on it, anywhere a condition can stand, a row comes, goes or changes at the
very instant: `ts > NOW() - INTERVAL 1 HOUR`, `CASE WHEN NOW() - ts < INTERVAL 1 DAY …`, `ts >= DATE_TRUNC('hour', NOW())`,
`UNIX_MILLIS(NOW()) <= n`. (`mz_now()` is `UNIX_MILLIS(NOW())`.)

A function that tells less than the instant is a value, which changes when its second, minute, hour or day ends: `MINUTE(NOW())`,
`CURRENT_DATE`, `DATE_TRUNC('second', NOW() - INTERVAL 1 DAY)`, `DATE_FORMAT(NOW(), 'HH:mm')`, and all that is made of them. Every row
that shows it changes then, so a query that can compare should. NOW() itself would be another value every microsecond, and is refused.

A query without FROM may read the time, too. A job without streams goes by ADVANCE, and on the embedded engine, as long as nobody advances,
by the wall clock at every change of a table and at every `db.poll()`; it shows nothing before it was told the time. A time window over what enters or leaves a query of tables alone goes by the same clock.

A difference of times, such as `a - b`, is a length of time as an INTERVAL is, and not a number. Lengths compare with each other, can be
added, negated and multiplied by whole numbers, and move times: `a - b > INTERVAL 1 DAY`, `NOW() - ts < n * INTERVAL 1 SECOND`. They are no
values: to show, group, order or aggregate them, count with `DATEDIFF(a, b)`, `TIMESTAMPDIFF(unit, b, a)` or `UNIX_MICROS(a) - UNIX_MICROS(b)`.

`TIMESTAMPADD(unit, n, t)`, or `DATEADD`, moves a time by n units; `TIMESTAMPDIFF(unit, a, b)`, or `DATEDIFF` with a unit, counts the whole
units from a to b. `TO_CHAR(t, 'YYYY-MM-DD HH24:MI')` is `date_format` for templates of that kind, too;
`TIMESTAMP_TRUNC(t, DAY)` is `date_trunc`.
"""
OVER = """and every aggregate, with `OVER (PARTITION BY … ORDER BY … [ROWS | RANGE | GROUPS BETWEEN … AND …])`, IGNORE NULLS where they
take a value, `WINDOW w AS (…)`, and QUALIFY. Without a frame: up to the row's peers, and without ORDER BY the whole partition. Rows
that are equal in the order come in the order of the select list's other items, then of whatever else the query reads.
"""

WINDOWS = """In FROM, `TUMBLE(input, ts, size)`, `HOP(input, ts, slide, size)` and `CUMULATE(input, ts, step, size)` give every row of an input once for
each window of time that it falls into, with two columns more: `window_start` and `window_end`. Windows begin at the epoch, or at one more
INTERVAL, the offset. `TABLE(TUMBLE(TABLE input, DESCRIPTOR(ts), size))` and named arguments mean the same. These windows are columns:
how long rows live says the window of the input, as in `TUMBLE(bids [RANGE 1 DAY], ts, INTERVAL 1 HOUR)`.

`GROUP BY TUMBLE(ts, size)` groups by windows directly; `TUMBLE_START` and `TUMBLE_END` of the same arguments are their bounds. So with
`HOP`, `HOP_START` and `HOP_END`.

`GROUP BY SESSION_WINDOW(ts, gap)` groups by sessions: rows that agree on the other keys, no two neighbours `gap` or more apart.
`SESSION_START` and `SESSION_END` of the same arguments are their bounds; the end is that of the last row and the gap. It works over
any relation, tables, joins and EXCEPT too: a row that leaves may split a session, one that comes may make one of two. A *window* that
holds the session that is open is `[SESSION GAP g]`.
"""

ARRAYS = """`ARRAY<type>`, or `type[]`, holds any number of values of a type, NULLs among them. `a[0]` is the first, as in Spark; the functions
count places from 1, from the end when they are negative, and so does `a[2:3]`. What is not there is NULL. Arrays compare element by
element, NULL before every value and equal to itself, and can be keys of groups and joins. Write `ARRAY[1, 2]` or `ARRAY(1, 2)`; `a || b`; `x = ANY(a)`, `x <> ALL(a)`.

`ARRAY_AGG` keeps NULLs, `COLLECT_LIST` and `COLLECT_SET` leave them out. Without ORDER BY the elements come in their own order, NULLs first,
so that the bag alone decides; rows that ORDER BY holds equal come in it, too. Over no rows `ARRAY_AGG` is NULL, the others are empty.
`ARRAY(SELECT …)` has the values of a query.

`UNNEST(a)` in FROM gives a row for every element, `GENERATE_SERIES(first, last[, step])` one for every number; both may read columns of the
inputs before them. `CROSS JOIN` leaves rows without elements out, `LEFT JOIN … ON TRUE` keeps them; `WITH ORDINALITY` gives the place.
`LATERAL VIEW [OUTER] EXPLODE(a) t AS x`, and one `UNNEST(a)` or `EXPLODE(a)` in the select list, mean the same.

`EXISTS(ARRAY(1, 2), x -> x < y)` and `FORALL` ask about elements of an array that is written out; of any other, `EXISTS(a, x -> x = y)`.
"""


def page() -> str:
    functions = {function.name: function for function in FUNCTIONS.values() if not set(function.names) & OPERATORS}
    lines = [
        f"| {', '.join(f'`{name}`' for name in function.names)} | {function.takes.replace('|', '/')} |"
        for _, function in sorted(functions.items())
    ]
    aggregates = ", ".join(f"`{name}`" for name in sorted([*NAMES, *STATISTICS]))
    around = "with DISTINCT, FILTER (WHERE …) and WITHIN GROUP where they make sense; `grouping` and `grouping_id` tell which keys a set leaves out."
    over = ", ".join(f"`{name}`" for name in sorted(WINDOW_FUNCTIONS))
    table = "\n".join(["| function | takes |", "|---|---|", *lines])
    return f"{HEAD}## Aggregates\n\n{aggregates}\n\n{around}\n\n## Window functions\n\n{over}\n\n{OVER}\n## Time\n\n{TIME}\n## Windows of time\n\n{WINDOWS}\n## Arrays\n\n{ARRAYS}\n## Scalar functions\n\n{table}\n"


@pytest.mark.parametrize("page", ["python.md", "asking.md", "messages.md"])
def test_a_page_says_what_its_example_prints(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    (example,), (said,) = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("python", "text"))
    exec(example, {})
    assert capsys.readouterr().out == said


def test_the_page_on_python_names_every_method() -> None:
    text = (PAGE.parent / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)", "\n".join(line for line in text.splitlines() if line.startswith("| `"))))
    assert named >= {name for name in vars(Database) if not name.startswith("_")}


def test_the_page_of_functions_is_up_to_date() -> None:
    if os.environ.get("SASH_WRITE_DOCS"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()
