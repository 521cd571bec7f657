"""From text to statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sash.deep import deeply
from sash.errors import SqlError
from sash.plan.index_method import HASH, IndexKind, IndexMethod
from sash.plan.streams import StreamSpec
from sash.sql import changes, declarations
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.dialect import parse_query, tokenize
from sash.sql.syntax.durations import duration
from sash.sql.syntax.statements import (
    Advance,
    CreateIndex,
    CreateSink,
    CreateStream,
    CreateView,
    Describe,
    Drop,
    Explain,
    ParsedQuery,
    Query,
    Show,
    Source,
    Statement,
)
from sash.sql.syntax.text_positions import Name, fault, within
from sash.sql.syntax.window_clause import bracketed_window

_EPOCH = datetime(1970, 1, 1)
MOST_GROUPS = 100_000
_NOT_YET = ("MERGE", "ALTER", "TRUNCATE", "SET", "USE", "REFRESH")


@deeply
def parse_statements(text: str) -> list[Statement]:
    """The statements of a text; their places are places in the whole text."""
    with within(text):
        return [_Statement(tokens, text).parse() for tokens in _split(tokenize(text))]


def parse_query_text(text: str) -> ParsedQuery:
    """The only statement of a text, which must be a query."""
    statements = parse_statements(text)
    if len(statements) != 1 or not isinstance(statements[0], Query):
        raise SqlError("expected one query that starts with SELECT or WITH", sql=text)
    return statements[0].query


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


class _Statement:
    """The tokens of one statement, read once from left to right."""

    def __init__(self, tokens: list[Token], text: str) -> None:
        self.cursor = Cursor(tokens)
        self.text = text
        self.source = Source(text, tokens[0].start, tokens[-1].end + 1)

    def parse(self) -> Statement:
        for word, read in self._kinds().items():
            if self.cursor.accept(word):
                statement = read()
                self._end()
                return statement
        if self.cursor.sees("SELECT") or self.cursor.sees("WITH") or self.cursor.sees("("):
            return Query(self.source, self._query())
        raise self._unknown()

    def _kinds(self) -> dict[str, Callable[[], Statement]]:
        return {
            "CREATE": self._create,
            "DROP": self._drop,
            "SHOW": self._show,
            "DESCRIBE": self._describe,
            "DESC": self._describe,
            "EXPLAIN": self._explain,
            "ADVANCE": self._advance,
            "INSERT": lambda: changes.insert(self.cursor, self.source),
            "UPDATE": lambda: changes.update(self.cursor, self.source),
            "DELETE": lambda: changes.delete(self.cursor, self.source),
        }

    def _create(self) -> Statement:
        or_replace = self.cursor.accept("OR", "REPLACE")
        if not or_replace and self.cursor.accept("STREAM"):
            return self._declaration(declarations.stream, "the name of a stream")
        if not or_replace and self.cursor.accept("TABLE"):
            return self._declaration(declarations.table, "the name of a table")
        if self.cursor.accept("AGGREGATE"):
            return declarations.aggregate(self.cursor, self.source, or_replace)
        if not or_replace and self.cursor.accept("SINK"):
            return self._sink()
        if not or_replace and self.cursor.accept("INDEX"):
            return self._index()
        is_materialized = self.cursor.accept("MATERIALIZED")
        if not self.cursor.accept("VIEW"):
            kinds = "VIEW or AGGREGATE" if or_replace else "STREAM, TABLE, VIEW, AGGREGATE, SINK or INDEX"
            raise self.cursor.unexpected("VIEW" if is_materialized else kinds)
        return self._view(is_materialized, or_replace)

    def _declaration(self, declare: Callable[[Cursor, Name], StreamSpec], what: str) -> CreateStream:
        if_not_exists = self.cursor.accept("IF", "NOT", "EXISTS")
        name = self.cursor.name(what)
        return CreateStream(self.source, name, declare(self.cursor, name), if_not_exists)

    def _view(self, is_materialized: bool, or_replace: bool) -> CreateView:
        if_not_exists = self.cursor.accept("IF", "NOT", "EXISTS")
        name = self.cursor.name("the name of a view")
        columns = self._column_names()
        options = declarations.options(self.cursor)
        self.cursor.expect("AS")
        query = self._query()
        return CreateView(self.source, name, columns, query, is_materialized, if_not_exists, or_replace, options)

    def _column_names(self) -> tuple[Name, ...]:
        if not self.cursor.accept("("):
            return ()
        names = [self.cursor.name("the name of a column")]
        while self.cursor.accept(","):
            names.append(self.cursor.name("the name of a column"))
        self.cursor.expect(")")
        return tuple(names)

    def _sink(self) -> CreateSink:
        if_not_exists = self.cursor.accept("IF", "NOT", "EXISTS")
        name = self.cursor.name("the name of a sink")
        self.cursor.expect("FROM")
        view = self.cursor.name("the name of a view")
        self.cursor.expect("TO")
        kind = self._one_of("POSTGRES", "MYSQL", "KAFKA", "FILES", "DELTA")
        return CreateSink(self.source, name, view, kind, declarations.options(self.cursor), if_not_exists)

    def _index(self) -> CreateIndex:
        if_not_exists = self.cursor.accept("IF", "NOT", "EXISTS")
        name = self.cursor.name("the name of an index")
        self.cursor.expect("ON")
        on = self.cursor.name("the name of a view or stream")
        window = bracketed_window(self.cursor) if self.cursor.sees("[") else None
        columns = self._column_names()
        if not columns:
            raise self.cursor.unexpected("columns in parentheses")
        method = self._index_method() if self.cursor.accept("USING") else HASH
        return CreateIndex(self.source, name, on, window, columns, method, if_not_exists)

    def _index_method(self) -> IndexMethod:
        kind = IndexKind(self._one_of(*(kind.value for kind in IndexKind)))
        return IndexMethod(kind, self._groups()) if kind is IndexKind.GROUP else IndexMethod(kind)

    def _groups(self) -> int:
        self.cursor.expect("(")
        count = self.cursor.number("a number of ranges")
        if count != int(count) or not 0 < count <= MOST_GROUPS:
            raise fault(self.cursor.last, f"GROUP counts 1 to {MOST_GROUPS:,} ranges", "write USING GROUP(100)")
        self.cursor.expect(")")
        return int(count)

    def _drop(self) -> Drop:
        kind = self._one_of("STREAM", "TABLE", "VIEW", "AGGREGATE", "SINK", "INDEX")
        if_exists = self.cursor.accept("IF", "EXISTS")
        return Drop(self.source, kind, self.cursor.name("a name"), if_exists)

    def _show(self) -> Show:
        return Show(self.source, self._one_of("STREAMS", "TABLES", "VIEWS", "SINKS", "INDEXES", "QUERIES"))

    def _describe(self) -> Describe:
        return Describe(self.source, self.cursor.name("the name of a stream, table or view"))

    def _explain(self) -> Explain:
        if self.cursor.accept("ANALYZE"):
            self.cursor.expect("VIEW")
            return Explain(self.source, self.cursor.name("the name of a view"), is_analyze=True)
        if self.cursor.accept("VIEW"):
            return Explain(self.source, self.cursor.name("the name of a view"))
        return Explain(self.source, self._query())

    def _advance(self) -> Advance:
        stream = self.cursor.name("the name of a stream") if self.cursor.accept("STREAM") else None
        self.cursor.expect("TO")
        self.cursor.accept("TIMESTAMP")
        return Advance(self.source, stream, _instant(self.cursor))

    def _query(self) -> ParsedQuery:
        is_approximate = self._accept_approximate()
        start, end = self.cursor.index, self._emit()
        tokens = self.cursor.tokens[start:end]
        tree = parse_query(tokens, self.text)
        self.cursor.index = end
        emit = duration(self.cursor) if self.cursor.accept("EMIT", "EVERY") else None
        self._end()
        return ParsedQuery(tree, Source(self.text, tokens[0].start, self.cursor.last.end + 1), emit, is_approximate)

    def _accept_approximate(self) -> bool:
        """SELECT APPROXIMATE before a call: the word is taken out. Anywhere else it is a name."""
        tokens, start = self.cursor.tokens, self.cursor.index
        is_call = len(tokens) > start + 3 and tokens[start + 3].text == "(" and tokens[start + 2].token_type is TokenType.VAR
        if not is_call or not self.cursor.sees("SELECT", "APPROXIMATE"):
            return False
        self.cursor = Cursor([*tokens[: start + 1], *tokens[start + 2 :]], start)
        return True

    def _emit(self) -> int:
        """Where EMIT EVERY begins, else the end."""
        for index in range(self.cursor.index, len(self.cursor.tokens)):
            ahead = Cursor(self.cursor.tokens, index)
            if ahead.sees("EMIT", "EVERY"):
                before = [token.text for token in self.cursor.tokens[self.cursor.index : index]]
                if before.count("(") > before.count(")"):
                    raise fault(ahead.tokens[index], "EMIT EVERY stands at the end of a view's query only")
                return index
        return len(self.cursor.tokens)

    def _one_of(self, *words: str) -> str:
        for word in words:
            if self.cursor.accept(word):
                return word
        raise self.cursor.unexpected(" or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part))

    def _end(self) -> None:
        if self.cursor.current is not None:
            raise self.cursor.unexpected('";" or the end of the statement')

    def _unknown(self) -> SqlError:
        first = self.cursor.tokens[0]
        if first.text.upper() in _NOT_YET:
            return fault(first, f"{first.text.upper()} is not supported yet")
        kinds = [word for word in self._kinds() if word != "DESC"]
        return fault(first, f'no statement starts with "{first.text}"', f"statements are: SELECT, {', '.join(kinds)}")


def _instant(cursor: Cursor) -> int:
    """Take a timestamp in quotes."""
    written = cursor.string("a timestamp in quotes")
    return timestamp(written, cursor.last)


def timestamp(written: str, where: Token | exp.Expr) -> int:
    """An instant in microseconds; a zone other than UTC is converted."""
    try:
        moment = datetime.fromisoformat(written.strip())
    except ValueError:
        raise fault(where, f'"{written}" is not a timestamp', "write it as '2024-05-01 12:00:00'") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH) // timedelta(microseconds=1)
