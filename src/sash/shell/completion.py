"""What a word may become: names of what there is, words of SQL, functions, commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sash.errors import SashError
from sash.scalar.build import function_names
from sash.shell.connections import Connection
from sash.shell.session import COMMANDS, KINDS

WORDS = (
    "ADVANCE", "ALL", "AND", "AS", "ASOF", "BETWEEN", "BY", "CASE", "CAST", "CREATE", "CROSS", "DELAY", "DELETE", "DESC",
    "DESCRIBE", "DISTINCT", "DROP", "ELSE", "EMIT", "END", "EVERY", "EXCEPT", "EXISTS", "EXPLAIN", "ANALYZE", "FROM", "FULL",
    "GROUP", "HAVING", "IN", "INNER", "INSERT", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LATERAL", "LEFT", "LIKE",
    "LIMIT", "MATERIALIZED", "MINUTES", "NOT", "NULL", "ON", "OR", "ORDER", "OUTER", "OVER", "PARTITION", "QUERIES", "RANGE",
    "REPLACE", "RETROACTIVE", "RIGHT", "ROWS", "SECONDS", "SELECT", "SESSION", "SET", "SHOW", "SLIDE", "STREAM", "STREAMS",
    "SUBSCRIBE", "TABLE", "TABLES", "THEN", "TIMESTAMP", "UNION", "UPDATE", "USING", "VALUES", "VIEW", "VIEWS", "WHEN",
    "WHERE", "WITH",
)  # fmt: skip
_WORD = re.compile(r"[\w\\]+$")


class Names(Completer):
    """Names are asked for when a word is completed: views come and go."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        word = found.group() if (found := _WORD.search(before)) is not None else ""
        if not word:
            return
        for choice, kind in self._choices(before):
            if choice.lower().startswith(word.lower()):
                yield Completion(choice, start_position=-len(word), display_meta=kind)

    def _choices(self, before: str) -> Iterator[tuple[str, str]]:
        if before.lstrip().startswith("\\") and " " not in before.strip():
            yield from ((name, one.what) for name, one in COMMANDS.items())
            return
        names = dict(self._names())
        yield from ((name, kind) for name, (kind, _) in names.items())
        typed = {word.lower() for word in re.findall(r"\w+", before)}
        of_typed = {column: name for name, (_, columns) in names.items() if name.lower() in typed for column in columns}
        yield from ((column, f"column of {name}") for column, name in of_typed.items())
        yield from ((word, "") for word in WORDS)
        yield from ((name.upper(), "function") for name in sorted(function_names()))

    def _names(self) -> Iterator[tuple[str, tuple[str, list[str]]]]:
        """What there is: its kind, and its columns."""
        for kind in KINDS:
            try:
                rows: Iterable[dict[str, object]] = self._connection.run(f"SHOW {kind.upper()}") or ()
            except SashError:  # a server that has gone is told of when a statement is sent
                return
            for row in rows:
                columns = [part.split()[0] for part in str(row["columns"]).split(", ") if part]
                yield str(row["name"]), (kind[:-1], columns)
