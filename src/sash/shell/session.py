"""What a shell does with a line: carry out statements, follow a view, obey a command that begins with a backslash."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sash.database.answer import Rows
from sash.database.display import row_texts
from sash.errors import SashError, choices, harmless
from sash.shell.connections import Connection
from sash.shell.splitting import is_command, pieces

ROWS = 1000  # of an answer that are shown, unless \rows says otherwise
EVERY = 2.0  # seconds between two answers of \watch
KINDS = ("streams", "tables", "views")
SIGNS = {1: "+", -1: "-", 0: "↻"}  # 0: forget all before

_FOLLOW = re.compile(r"SUBSCRIBE\s+(?:`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"|(\w+))", re.IGNORECASE)

_EXPLAIN = re.compile(r"EXPLAIN\b", re.IGNORECASE)


class Quit(Exception):
    """Somebody has had enough."""


@dataclass
class Session:
    """A connection, and how its answers are shown."""

    connection: Connection
    say: Callable[[str], None]
    rows: int | None = ROWS
    is_timed: bool = False
    last: str = ""  # the last statement that gave rows

    def take(self, text: str) -> None:
        """Carry out statements and commands, one after the other; the last one needs no semicolon."""
        for piece in pieces(text):
            (self.command if is_command(piece) else self.statement)(piece)

    def statement(self, text: str) -> None:
        began = time.perf_counter()
        if (followed := _FOLLOW.fullmatch(text)) is not None:
            return self.follow(followed)
        found = self.connection.run(text)
        if found is None:
            self.say("done")
        else:
            self.last = text
            self._explain(found) if _EXPLAIN.match(text) else self._show(found)
        if self.is_timed:
            self.say(f"{1000 * (time.perf_counter() - began):.1f} ms")

    def follow(self, name: re.Match[str]) -> None:
        """The answer of a view and its changes, line by line, until Ctrl-C or until there will be no more."""
        quoted, double, plain = name.groups()
        view = quoted.replace("``", "`") if quoted else double.replace('""', '"') if double else plain
        try:
            for batch in self.connection.follow(view):
                for line in _changes(batch) if batch is not None else ():
                    self.say(line)
        except KeyboardInterrupt:
            self.say("")

    def command(self, line: str) -> None:
        """A line that begins with a backslash."""
        word, _, rest = line.partition(" ")
        if word not in COMMANDS:
            raise SashError(f"{harmless(word)} is no command", f"commands are: {choices(COMMANDS)}; \\? says what they do")
        COMMANDS[word].run(self, rest.strip().removesuffix(";").strip())

    def _show(self, rows: Rows) -> None:
        self.say(rows.text(self.rows))

    def _explain(self, rows: Rows) -> None:
        """A plan, line by line as it is drawn."""
        for row in rows:
            for line in str(row["plan"]).splitlines() or [""]:
                self.say(harmless(line))

    # Commands

    def quit(self, _: str) -> None:
        raise Quit

    def help(self, _: str) -> None:
        width = max(len(f"{name} {one.words}") for name, one in COMMANDS.items())
        self.say("statements end with a semicolon; SUBSCRIBE view; shows changes as they come, until Ctrl-C")
        for name, one in COMMANDS.items():
            self.say(f"  {f'{name} {one.words}':{width}}  {one.what}")

    def describe(self, name: str) -> None:
        if name:
            self.statement(f"DESCRIBE {name}")
            return
        found = {kind: self.connection.run(f"SHOW {kind.upper()}") for kind in KINDS}
        rows = [(kind[:-1], row["name"], row["columns"]) for kind, part in found.items() for row in part or ()]
        kinds, names, columns = (list(each) for each in zip(*rows, strict=True)) if rows else ([], [], [])
        self._show(Rows(pa.table({"kind": kinds, "name": names, "columns": columns})))

    def include(self, name: str) -> None:
        if not name:
            raise SashError("\\i needs the name of a file", "\\i job.sql")
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SashError(f"cannot read {harmless(name)}: {error}") from None
        self.take(text)

    def limit(self, count: str) -> None:
        if count != "all" and not count.isdecimal():
            raise SashError("\\rows needs a number, or all", "\\rows 100")
        self.rows = None if count == "all" else int(count)
        self.say(f"answers show {'all rows' if self.rows is None else f'{self.rows:,} rows at most'}")

    def time(self, _: str) -> None:
        self.is_timed = not self.is_timed
        self.say(f"times are {'shown' if self.is_timed else 'not shown'}")

    def watch(self, seconds: str) -> None:
        """The last answer, again and again."""
        if not self.last:
            raise SashError("\\watch repeats a question, and there was none", "ask a SELECT first")
        try:
            every = float(seconds) if seconds else EVERY
        except ValueError:
            raise SashError(f"{harmless(seconds)} is no number of seconds", "\\watch 2") from None
        try:
            while True:
                self.statement(self.last)
                time.sleep(max(0.05, every))
        except KeyboardInterrupt:
            self.say("")


@dataclass(frozen=True)
class Command:
    words: str
    what: str
    run: Callable[[Session, str], None]


def _showing(kind: str) -> Callable[[Session, str], None]:
    return lambda session, _: session.statement(f"SHOW {kind}")


COMMANDS: Mapping[str, Command] = {
    "\\d": Command("[name]", "streams, tables and views; or the columns of one", Session.describe),
    "\\ds": Command("", "streams", _showing("STREAMS")),
    "\\dt": Command("", "tables", _showing("TABLES")),
    "\\dv": Command("", "views", _showing("VIEWS")),
    "\\dk": Command("", "sinks", _showing("SINKS")),
    "\\dq": Command("", "queries that run, and what they share", _showing("QUERIES")),
    "\\i": Command("file", "carry out the statements of a file", Session.include),
    "\\watch": Command("[seconds]", "ask the last question again and again, until Ctrl-C", Session.watch),
    "\\rows": Command("n | all", "how many rows of an answer are shown", Session.limit),
    "\\timing": Command("", "show how long statements take, or stop it", Session.time),
    "\\?": Command("", "this list", Session.help),
    "\\q": Command("", "leave", Session.quit),
}


def _changes(batch: pa.RecordBatch) -> Iterator[str]:
    """Changes as lines: the sign, the instant, the values."""
    for op, (_, *values) in zip(batch.column(0).to_pylist(), row_texts(batch), strict=True):
        yield "  ".join([SIGNS[op], *values]).rstrip()
