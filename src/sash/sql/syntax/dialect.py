"""The SQL of queries: Spark's, with a window after every input and a WINDOW clause after the query.

What sqlglot parses is kept close to the text: functions keep the names they were written with (their meaning is the
binder's business), every node knows its place, and windows hang on the nodes they follow without being part of it, so
that the tree alone is plain Spark SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from sash.errors import SqlError
from sash.sql.syntax.nesting import check_nesting
from sash.sql.syntax.stream_syntax import give_window, is_in_parentheses, window_of
from sash.sql.syntax.text_positions import Place, fault, mark
from sash.sql.syntax.time_window_syntax import TimeWindowParser
from sash.sql.syntax.type_names import VALID
from sash.sql.syntax.window_clause import WindowClause, trailing_window

_NO_DIGITS = re.compile(r"Numeric string contains invalid characters from \d+:(\d+)")
_QUOTED = re.compile(r"\w+'[^']*'")
_NEVER_CLOSED = re.compile(r"Missing (.+) from \d+:(\d+)")
_KEPT_FUNCTION_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION")


class DefaultWindow(exp.Expression):
    """The WINDOW clause of a query."""

    arg_types: ClassVar[dict[str, bool]] = {}

    @staticmethod
    def of(window: WindowClause) -> DefaultWindow:
        node = DefaultWindow()
        give_window(node, window)
        return node


def default_window(query: exp.Query) -> WindowClause | None:
    """What the WINDOW clause of a query says; at the end of set operators it holds for all of them."""
    clauses = query.args.get("windows") or []
    if not clauses and isinstance(query, exp.SetOperation) and isinstance(query.expression, exp.Query):
        return default_window(query.expression)
    if isinstance(query, exp.Subquery) and not is_in_parentheses(query) and isinstance(query.this, exp.Query):
        return default_window(query.this)
    return window_of(clauses[0]) if clauses else None


class QueryParser(TimeWindowParser):
    """Spark's parser, with windows, clauses of streams, and places."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in _KEPT_FUNCTION_PARSERS
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
    }
    STRICT_CAST = True

    def query(self, tokens: Sequence[Token], text: str) -> exp.Query:
        """The tree of one query; the tokens are those of the query alone."""
        tree = self._parse(lambda parser: parser._parse_statement(), list(tokens), text)[0]
        if not isinstance(tree, exp.Query):
            raise fault(tokens[0], "expected a query that starts with SELECT or WITH")
        return tree

    def scalar(self, tokens: Sequence[Token], text: str) -> exp.Expr:
        """The tree of one expression."""
        tree = self._parse(lambda parser: parser._parse_assignment(), list(tokens), text)[0]
        if tree is None:
            raise fault(tokens[0], "expected an expression")
        return tree

    def _parse_hint(self) -> None:
        """Hints tell other planners how to run a query, never what it means."""
        self._match(TokenType.HINT)

    # Windows.

    def _parse_window_clause(self) -> Any:
        if self._can_parse_named_window():
            return super()._parse_window_clause()
        return [DefaultWindow.of(self._taken(trailing_window))]

    # Places.

    def expression(self, instance: Any, token: Token | None = None, comments: list[str] | None = None) -> Any:
        is_leaf = next(instance.iter_expressions(), None) is None
        return super().expression(instance, token or (self._prev if is_leaf else None), comments)

    def _marked(self, parse: Callable[[], Any]) -> Any:
        first = self._curr
        node = parse()
        if isinstance(node, exp.Expr):
            mark(node, first, self._prev)
        return node

    def _parse_function_call(self, *arguments: Any, **options: Any) -> Any:
        return self._marked(lambda: super(QueryParser, self)._parse_function_call(*arguments, **options))

    def _parse_paren(self) -> Any:
        return self._marked(super()._parse_paren)

    def _parse_assignment(self) -> Any:
        return self._marked(super()._parse_assignment)

    def _parse_unary(self) -> Any:
        return self._marked(super()._parse_unary)

    def _parse_join(self, *arguments: Any, **options: Any) -> Any:
        if self._match(TokenType.COMMA, advance=False):
            return self._marked(self._comma_join)
        if self._sees("FOLLOWED", "BY") or self._sees("MINUS"):
            return self._marked(self._stream_join)
        if self._sees_as_of():
            return self._marked(self._as_of_join)
        return self._marked(lambda: super(QueryParser, self)._parse_join(*arguments, **options))

    def _comma_join(self) -> exp.Join:
        """A join of no kind. sqlglot would try the table and go on without it; here its errors are told."""
        self._advance()
        return exp.Join(this=self._parse_table())

    def parse_set_operation(self, this: exp.Expr | None, *arguments: Any, **options: Any) -> Any:
        operator = self._curr
        node = super().parse_set_operation(this, *arguments, **options)
        if isinstance(node, exp.SetOperation) and node is not this:
            mark(node, operator, operator)
        return node

    # Errors.

    def _parse_csv(self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA) -> list[Any]:
        items = super()._parse_csv(parse_method, sep)
        is_attempt = parse_method == self._parse_lambda_arg  # sqlglot takes it back if it is not a lambda
        if items and self._prev.token_type is sep and not is_attempt:
            self.raise_error("something is missing after this comma", self._prev)
        return items

    def raise_error(self, message: str, token: Any = None) -> None:
        """One plain sentence with its place; sqlglot would add a coloured excerpt."""
        token = token or self._curr
        place = Place(token.start, token.end + 1) if token else Place(self._prev.end + 1, self._prev.end + 2)
        raise ParseError(message, [{"place": place}])


def _marked_clause(parse: Callable[[QueryParser], tuple[str, Any]]) -> Callable[[QueryParser], tuple[str, Any]]:
    def marked(parser: QueryParser) -> tuple[str, Any]:
        first = parser._curr
        key, node = parse(parser)
        if isinstance(node, exp.Expr):
            mark(node, first, parser._prev)
        return key, node

    return marked


QueryParser.QUERY_MODIFIER_PARSERS = {
    token: _marked_clause(parse) for token, parse in SparkParser.QUERY_MODIFIER_PARSERS.items()
}


class Sash(Spark):
    """The dialect, for its tokens."""

    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    Parser = QueryParser


def tokenize(text: str) -> list[Token]:
    if (half := _HALF_CHARACTER.search(text)) is not None:
        start, end = half.span()
        shown = _HALF_CHARACTER.sub("\ufffd", text)  # half a character cannot be printed
        raise SqlError("half of a character stands here", "decode the text as UTF-8", sql=shown, start=start, end=end)
    try:
        return Sash().tokenize(text)
    except TokenError as error:
        raise fault(*no_tokens(error, text)) from None


def no_tokens(error: TokenError, text: str) -> tuple[Place, str, str | None]:
    """Where a text cannot be cut into tokens, why, and a way out if there is more than one."""
    reason = str(error.__cause__)
    if (opened := _NEVER_CLOSED.match(reason)) is not None:
        start = int(opened[2])
        return Place(start, start + 1), f"this {opened[1]} is never closed", None
    if (wrong := _NO_DIGITS.match(reason)) is None:
        return Place(len(text) - 1, len(text)), "the text ends inside of a comment", None
    start = int(wrong[1])
    literal = _QUOTED.match(text, start)
    end = len(text) if literal is None else literal.end()
    kind, digits = ("binary", "0 and 1") if text[start] in "bB" else ("hexadecimal", "0 to 9 and A to F")
    what = f"{text[start:end]} is no {kind} literal: its digits are {digits}"
    return Place(start, end), what, "write a text without the letter before it, a number as 31"


def parse_expression(tokens: Sequence[Token], text: str) -> exp.Expr:
    """The tree of an expression that stands by itself."""
    with _told():
        tree = QueryParser(dialect=Sash()).scalar(tokens, text)
    check_nesting(tree)
    return tree


def parse_query(tokens: Sequence[Token], text: str) -> exp.Query:
    """The tree of a query from its tokens, which know their places in the whole text."""
    if not tokens:
        raise fault(Place(len(text), len(text) + 1), "expected a query that starts with SELECT or WITH")
    with _told():
        tree = QueryParser(dialect=Sash()).query(tokens, text)
    check_nesting(tree)
    return tree


@contextmanager
def _told() -> Iterator[None]:
    """Errors of sqlglot in our words."""
    try:
        yield
    except ParseError as error:
        raise fault(error.errors[0]["place"], _plain(str(error))) from None


def _plain(message: str) -> str:
    """What sqlglot says, in words for a person."""
    for start, plain in _PLAIN.items():
        if message.startswith(start):
            return plain
    return message[:1].lower() + message[1:].removesuffix(".")


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_PLAIN = {
    "Required": "something is missing here",
    "Invalid expression": "this was not expected here",
    "Expected table name": "expected the name of a stream, table or view",
    "Expecting )": "expected a closing parenthesis",
    "Expecting (": "expected an opening parenthesis",
    "Expected TYPE after CAST": f"unknown type; {VALID}",
}
