"""Clauses that SQL does not have, where an item of FROM may stand:

    a FOLLOWED BY b [USING RECENT | CHRONICLE] [ON condition] [WITHIN 10 MINUTES] [window]
    a MINUS b ON a.k = b.k
    a [LEFT] ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k     which is ASOF [LEFT] JOIN ... ON a.k = b.k AND a.t >= b.t
    ISTREAM(v), DSTREAM(SELECT ...), RSTREAM(v)

The first ones hang on the query as joins of these kinds; the last is a node of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from sash.errors import choices
from sash.plan.nodes import Pairing
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.durations import duration
from sash.sql.syntax.text_positions import fault
from sash.sql.syntax.window_clause import WindowClause, bracketed_window

FOLLOWED_BY = "FOLLOWED BY"
MINUS = "MINUS"

_WINDOW, _PAIRING, _WITHIN, _KIND, _WRITTEN = "window", "pairing", "within", "kind", "written"
_STREAMS = ("ISTREAM", "DSTREAM", "RSTREAM")
_LENGTHS = (TokenType.NUMBER, TokenType.STRING, TokenType.INTERVAL)
_AS_OF = (("JOIN",), ("LEFT", "JOIN"), ("INNER", "JOIN"), ("LEFT", "OUTER", "JOIN"))
_WINDOW_WORDS = ("RANGE", "ROWS", "NOW", "UNBOUNDED", "PARTITION BY")
_ENDS_OF_INPUT = ("MINUS", "EXCEPT", "UNION", "INTERSECT", "JOIN", "WHERE", "ORDER BY", "LIMIT", ",")
_AFTER_SET_OPERATOR = ("SELECT", "ALL", "DISTINCT", "VALUES", "WITH", "FROM")


class StreamOf(exp.Expression):
    """ISTREAM, DSTREAM or RSTREAM of an item of FROM."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "alias": False}


def stream_kind(node: StreamOf) -> str:
    return str(node.meta[_KIND])


def window_of(node: exp.Expr) -> WindowClause | None:
    """The window that follows an input, or that a WINDOW clause gives."""
    found = node.meta.get(_WINDOW)
    return found if isinstance(found, WindowClause) else None


def is_in_parentheses(query: exp.Subquery) -> bool:
    """Whether its parentheses are in the text, not only in the tree for the sake of precedence."""
    return bool(query.meta.get(_WRITTEN))


def give_window(node: exp.Expr, window: WindowClause) -> None:
    node.meta[_WINDOW] = window


def pairing_of(join: exp.Join) -> Pairing:
    found = join.meta.get(_PAIRING)
    return found if isinstance(found, Pairing) else Pairing.RECENT


def within_of(join: exp.Join) -> int | None:
    found = join.meta.get(_WITHIN)
    return found if isinstance(found, int) else None


class StreamParser(SparkParser):
    """Spark's parser with these clauses and with windows."""

    def _window(self, node: exp.Expr | None) -> None:
        if node is None or not self._match(TokenType.L_BRACKET, advance=False):
            return
        window = self._taken(bracketed_window)
        if window_of(node):
            raise fault(window.place, "this input has a window already")
        give_window(node, window)

    def _taken(self, take: Callable[[Cursor], Any]) -> Any:
        """What a reader of tokens takes from here."""
        cursor = Cursor(self._tokens, self._index)
        found = take(cursor)
        self._advance(cursor.index - self._index)
        return found

    def _sees(self, *words: str) -> bool:
        return Cursor(self._tokens, self._index).sees(*words)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if isinstance(this, exp.Table):
            self._window(this)
            return this
        return this if self._is_window_next() else super()._parse_bracket(this)

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        # sqlglot takes brackets as long as there are some, and would wait for this one to go.
        return this if self._is_window_next() else super()._parse_column_ops(this)

    def _is_window_next(self) -> bool:
        """Whether a bracket is the window of a sequence, after its condition."""
        if self._curr is None or self._curr.token_type is not TokenType.L_BRACKET:
            return False
        return any(self._sees("[", word) for word in _WINDOW_WORDS)

    def _parse_subquery(self, this: exp.Expr | None, parse_alias: bool = True) -> exp.Subquery | None:
        holder = exp.Subquery()
        if this is not None and parse_alias:
            self._window(holder)
        node = super()._parse_subquery(this, parse_alias)
        if node is not None:
            node.meta[_WRITTEN] = True
            if window := window_of(holder):
                give_window(node, window)
        return node

    def _parse_table(self, *arguments: Any, **options: Any) -> exp.Expr | None:
        is_stream = any(self._sees(word, "(") for word in _STREAMS)
        node: exp.Expr | None = self._stream_of() if is_stream else super()._parse_table(*arguments, **options)
        self._window(node)
        return node

    def _parse_table_alias(self, *arguments: Any, **options: Any) -> exp.TableAlias | None:
        if self._sees("MATCH_CONDITION", "("):
            return None
        ends = self._sees("FOLLOWED", "BY") or (self._sees("WITHIN") and self._next.token_type in _LENGTHS)
        return None if ends else super()._parse_table_alias(*arguments, **options)

    def _stream_of(self) -> StreamOf:
        kind = self._curr.text.upper()
        self._advance(2)
        is_query = any(self._sees(word) for word in ("SELECT", "WITH", "("))
        inner = self._parse_select(nested=True) if is_query else self._parse_table()
        if is_query and not isinstance(inner, exp.Subquery):
            inner = exp.Subquery(this=inner)
        self._match_r_paren()
        node = StreamOf(this=inner)
        node.meta[_KIND] = kind
        self._window(node)
        if (alias := self._parse_table_alias()) is not None:
            node.set("alias", alias)
        return node

    def _stream_join(self) -> exp.Join | None:
        """FOLLOWED BY or MINUS, if one is next."""
        if self._sees("FOLLOWED", "BY"):
            self._advance(2)
            return self._sequence()
        if self._sees(MINUS) and self._is_negation():
            self._advance()
            node = exp.Join(this=self._parse_table(), kind=MINUS)
            if not self._match(TokenType.ON):
                raise fault(self._curr or self._prev, "MINUS of two inputs needs ON", "write a MINUS b ON a.k = b.k")
            node.set("on", self._parse_disjunction())
            return node
        return None

    def _sees_as_of(self) -> bool:
        return self._sees("LEFT", "ASOF", "JOIN") or any(self._sees("ASOF", *words) for words in _AS_OF)

    def _as_of_join(self) -> exp.Join:
        """The comparison of MATCH_CONDITION becomes one of ON."""
        words: list[str] = []
        while not words or words[-1] != "JOIN":
            words.append(self._curr.text.upper())
            self._advance()
        node = exp.Join(this=self._parse_table(), method="ASOF")
        if "LEFT" in words:
            node.set("side", "LEFT")
        compared = self._parse_wrapped(self._parse_disjunction) if self._match_text_seq("MATCH_CONDITION") else None
        if self._match(TokenType.USING):
            node.set("using", self._parse_using_identifiers())
            return node
        equal = self._parse_disjunction() if self._match(TokenType.ON) else None
        parts = [part for part in (equal, compared) if part is not None]
        if parts:
            node.set("on", parts[0] if len(parts) == 1 else exp.And(this=parts[0], expression=parts[1]))
        return node

    def _sequence(self) -> exp.Join:
        node = exp.Join(this=self._parse_table(), kind=FOLLOWED_BY)
        if self._match(TokenType.USING):
            node.meta[_PAIRING] = self._pairing()
        if self._match(TokenType.ON):
            node.set("on", self._parse_disjunction())
        if self._match_text_seq("WITHIN"):
            node.meta[_WITHIN] = self._taken(duration)
        self._window(node)
        return node

    def _pairing(self) -> Pairing:
        word = self._curr.text.upper() if self._curr else ""
        if word not in Pairing.__members__:
            raise fault(self._curr or self._prev, "FOLLOWED BY ... USING needs a pairing", f"it is {_PAIRINGS}")
        self._advance()
        return Pairing[word]

    def _is_negation(self) -> bool:
        """Whether this MINUS stands between two inputs, not between two queries."""
        if any(self._sees(MINUS, word) for word in _AFTER_SET_OPERATOR):
            return False
        return not self._sees(MINUS, "(") or self._has_condition(self._index + 1)

    def _has_condition(self, place: int) -> bool:
        """Whether ON follows the parentheses that open at a token, before another clause or query begins."""
        depth = 0
        for token in self._tokens[place:]:
            word = token.text.upper()
            depth += {"(": 1, ")": -1}.get(word, 0)
            if depth < 0 or (depth == 0 and word in _ENDS_OF_INPUT):
                return False
            if depth == 0 and word == "ON":
                return True
        return False


_PAIRINGS = choices(Pairing.__members__)
