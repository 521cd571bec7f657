"""What a statement asks of the server, told from its first words.

    reads       SELECT, WITH, VALUES, TABLE, SHOW and EXPLAIN of Sash         answered by the database, or from the catalog
    changes     INSERT, UPDATE, DELETE, ADVANCE; CREATE, DROP                 carried out if that is granted
    session     BEGIN, COMMIT, SET, SHOW, DISCARD, DEALLOCATE, …              accepted: readers need no transactions
    cursors     DECLARE, FETCH, MOVE, CLOSE
    copies      COPY … TO STDOUT, also of a SUBSCRIBE
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from sqlglot.tokenizer_core import TokenType

from sash.serve.postgres.copy_syntax import CopyOut, copy_out
from sash.serve.postgres.failures import WireError
from sash.serve.postgres.lexer import Statement, statements
from sash.serve.postgres.routing import may_be_about_catalog
from sash.serve.postgres.translate import Written

ALL = -1  # rows of a FETCH

CHANGES = ("INSERT", "UPDATE", "DELETE", "ADVANCE")
DEFINITIONS = ("CREATE", "DROP")
SASH_SHOWS = ("STREAMS", "TABLES", "VIEWS", "SINKS", "QUERIES", "INDEXES")


@dataclass(frozen=True)
class Read:
    """Rows are asked for. A prepared one is asked many times: what does not depend on its values is found out once."""

    statement: Statement

    @cached_property
    def spelled_out(self) -> Statement:
        """TABLE v is SELECT * FROM v."""
        if self.statement.word(0) != "TABLE":
            return self.statement
        return statements(f"SELECT * FROM {self.statement.within(1).sql}")[0]

    @cached_property
    def may_be_about_catalog(self) -> bool:
        return may_be_about_catalog(self.spelled_out)

    @cached_property
    def written(self) -> Written:
        return Written.of(self.spelled_out)


@dataclass(frozen=True)
class Ask:
    """A statement of Sash that gives rows but is no query: SHOW VIEWS, DESCRIBE, EXPLAIN."""

    statement: Statement


@dataclass(frozen=True)
class Change:
    """`grant` is what a client must be allowed."""

    statement: Statement
    grant: str


@dataclass(frozen=True)
class Transaction:
    """`word` is BEGIN, COMMIT, ROLLBACK or BACK (to a savepoint); `tag` is what the client is told."""

    word: str
    tag: str


@dataclass(frozen=True)
class Set:
    name: str
    value: str | None  # None: as it was at the start


@dataclass(frozen=True)
class ShowSetting:
    name: str


@dataclass(frozen=True)
class Accepted:
    """Nothing to do."""

    tag: str


@dataclass(frozen=True)
class Discard:
    tag: str
    name: str | None = None  # of a prepared statement; None: all of them
    has_cursors: bool = False


@dataclass(frozen=True)
class Declare:
    name: str
    query: Statement
    lasts: bool  # beyond the end of the transaction: WITH HOLD


@dataclass(frozen=True)
class Fetch:
    name: str
    count: int
    is_move: bool


@dataclass(frozen=True)
class CloseCursor:
    name: str | None  # None: all


Command = Read | Ask | Change | Transaction | Set | ShowSetting | Accepted | Discard | Declare | Fetch | CloseCursor | CopyOut


def command(statement: Statement) -> Command:
    first, second = statement.word(0), statement.word(1)
    if first in ("SELECT", "WITH", "VALUES", "TABLE") or statement.tokens[0].token_type is TokenType.L_PAREN:
        return Read(statement)
    if first in CHANGES or first in DEFINITIONS:
        return Change(statement, "change" if first in CHANGES else "define")
    if first in ("EXPLAIN", "DESCRIBE", "DESC") or (first == "SHOW" and second in SASH_SHOWS):
        return Ask(statement)
    read = _READERS.get(first)
    if read is None:
        raise WireError("42601", f'no statement starts with "{statement.tokens[0].text}"', position=statement.tokens[0].start + 1)
    return read(statement)


def _begin(statement: Statement) -> Command:
    return Transaction("BEGIN", "START TRANSACTION" if statement.word(0) == "START" else "BEGIN")


def _commit(_: Statement) -> Command:
    return Transaction("COMMIT", "COMMIT")


def _rollback(statement: Statement) -> Command:
    words = list(statement.words())
    return Transaction("BACK" if "TO" in words else "ROLLBACK", "ROLLBACK")


def _set(statement: Statement) -> Command:
    at = 2 if statement.word(1) in ("SESSION", "LOCAL") and statement.word(2) not in ("=", "TO") else 1
    if statement.word(at) in ("TRANSACTION", "CHARACTERISTICS", "AUTHORIZATION", "ROLE", "CONSTRAINTS"):
        return Accepted("SET")
    if statement.word(at) == "TIME" and statement.word(at + 1) == "ZONE":
        return Set("timezone", _words_from(statement, at + 2))
    name, at = _setting_name(statement, at)
    if statement.word(at) not in ("=", "TO"):
        raise statement.unexpected(at, "TO")
    value = _words_from(statement, at + 1)
    return Set(name, None if value.upper() == "DEFAULT" else value)


def _setting_name(statement: Statement, at: int) -> tuple[str, int]:
    name = statement.name(at).lower()
    while at + 2 < len(statement.tokens) and statement.tokens[at + 1].token_type is TokenType.DOT:
        name, at = f"{name}.{statement.name(at + 2).lower()}", at + 2
    return name, at + 1


def _words_from(statement: Statement, at: int) -> str:
    if at >= len(statement.tokens):
        raise statement.unexpected(at, "a value")
    return "".join(str(token.text) for token in statement.tokens[at:]).replace(",", ", ")


def _reset(statement: Statement) -> Command:
    return Accepted("RESET") if statement.word(1) == "ALL" else Set(_setting_name(statement, 1)[0], None)


def _show(statement: Statement) -> Command:
    if statement.word(1) == "TRANSACTION":
        return ShowSetting("transaction_isolation")
    return ShowSetting("timezone" if statement.word(1) == "TIME" else _setting_name(statement, 1)[0])


def _discard(statement: Statement) -> Command:
    tag = f"DISCARD {statement.word(1)}"
    return Discard(tag, has_cursors=True) if statement.word(1) == "ALL" else Accepted(tag)


def _deallocate(statement: Statement) -> Command:
    at = 2 if statement.word(1) == "PREPARE" else 1
    if statement.word(at) == "ALL":
        return Discard("DEALLOCATE ALL")
    return Discard("DEALLOCATE", statement.name(at))


def _declare(statement: Statement) -> Command:
    words = [statement.word(place) for place in range(len(statement.tokens))]
    if "FOR" not in words or "CURSOR" not in words[: words.index("FOR")]:
        raise statement.unexpected(2, "CURSOR FOR and a query")
    return Declare(statement.name(1), statement.within(words.index("FOR") + 1), "HOLD" in words[: words.index("FOR")])


def _fetch(statement: Statement) -> Command:
    """FETCH [NEXT | FORWARD [n | ALL] | n | ALL] [FROM | IN] name"""
    at, count = 1, 1
    if statement.word(at) in ("NEXT", "FORWARD"):
        at += 1
    if statement.word(at) == "ALL":
        at, count = at + 1, ALL
    elif at < len(statement.tokens) and statement.tokens[at].token_type is TokenType.NUMBER:
        at, count = at + 1, int(statement.tokens[at].text) if statement.tokens[at].text.isdecimal() else 0
    elif statement.word(at) in ("PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD", "-"):
        raise WireError("55000", "a cursor moves forward only")
    if statement.word(at) in ("FROM", "IN"):
        at += 1
    return Fetch(statement.name(at), count, statement.word(0) == "MOVE")


def _close(statement: Statement) -> Command:
    return CloseCursor(None if statement.word(1) == "ALL" else statement.name(1))


_READERS: dict[str, Callable[[Statement], Command]] = {
    "BEGIN": _begin, "START": _begin, "COMMIT": _commit, "END": _commit, "ROLLBACK": _rollback, "ABORT": _rollback,
    "SAVEPOINT": lambda _: Accepted("SAVEPOINT"), "RELEASE": lambda _: Accepted("RELEASE"),
    "SET": _set, "RESET": _reset, "SHOW": _show, "DISCARD": _discard, "DEALLOCATE": _deallocate,
    "LISTEN": lambda _: Accepted("LISTEN"), "UNLISTEN": lambda _: Accepted("UNLISTEN"),
    "DECLARE": _declare, "FETCH": _fetch, "MOVE": _fetch, "CLOSE": _close, "COPY": copy_out,
}
