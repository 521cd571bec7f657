"""TUMBLE, HOP and CUMULATE in FROM, written out: every row once for each of the windows of time that it falls into.

    TUMBLE(t, ts, size)           the one window [start, start + size) with the row's time in it
    HOP(t, ts, slide, size)       windows that start every `slide`
    CUMULATE(t, ts, step, size)   windows that share a start and end a step later each, up to `size`
"""

from __future__ import annotations

import re

SECOND = 1_000_000

_CALL = re.compile(
    r"(?:TABLE\s*\(\s*)?\b(TUMBLE|HOP|CUMULATE)\s*\(\s*(?:TABLE\s+)?(\w+)\s*,\s*(?:DESCRIPTOR\s*\(\s*(\w+)\s*\)|(\w+))\s*,"
    r"\s*INTERVAL\s*'(\d+)'\s*SECOND(?:\s*,\s*INTERVAL\s*'(\d+)'\s*SECOND)?\s*\)(\s*\))?",
    re.IGNORECASE,
)


def written_out(sql: str) -> str:
    return _CALL.sub(_subquery, sql)


def _subquery(call: re.Match[str]) -> str:
    kind, table, descriptor, name, first, second = call.groups()[:6]
    column, step, size = descriptor or name, int(first) * SECOND, int(second or first) * SECOND
    if kind.upper() == "CUMULATE":
        starts = [(0, size, length) for length in range(step, size + 1, step)]
    else:
        starts = [(back, step, size) for back in range(0, size, step)]
    return "(" + " UNION ALL ".join(_windows(table, column, *start) for start in starts) + ")"


def _windows(table: str, column: str, back: int, period: int, length: int) -> str:
    """The rows that lie in the window that begins `back` before the start of their period."""
    micros = f"unix_micros({column})"
    start = f"{micros} - pmod({micros}, {period}) - {back}"
    return (
        f"SELECT *, timestamp_micros({start}) AS window_start, timestamp_micros({start} + {length}) AS window_end "
        f"FROM {table} WHERE {micros} < {start} + {length}"
    )
