"""A statement in PostgreSQL's spelling, written in Sash's.

The new text is made of the tokens alone, at their old distances: what PostgreSQL takes for a text or a comment can never become
SQL. Places of errors are led back to the text that the client sent.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from sash.errors import SashError, SqlError
from sash.serve.postgres.failures import WireError, code_of, not_supported
from sash.serve.postgres.lexer import STRINGS, Statement
from sash.serve.postgres.parameters import value_of
from sash.serve.postgres.wire_types import ARRAYS, TEXT
from sash.sql.literals import literal, string
from sash.sql.syntax.text_positions import quoted

SCHEMA, DATABASE = "public", "sash"

_TYPES = {
    "FLOAT8": "DOUBLE", "FLOAT4": "DOUBLE", "REAL": "DOUBLE", "FLOAT": "DOUBLE", "DOUBLE PRECISION": "DOUBLE", "INT8": "BIGINT",
    "INT4": "INT", "INT2": "INT", "SMALLINT": "INT", "BOOL": "BOOLEAN", "TIMESTAMPTZ": "TIMESTAMP", "CHARACTER VARYING": "STRING",
    "BPCHAR": "STRING", "CHARACTER": "STRING", "NAME": "STRING",
}
# PostgreSQL's plain NUMERIC has as many digits as there are; Spark's has ten, and none of them after the point.
_ANY_DECIMAL, _DECIMAL_NAMES = "DECIMAL(38, 18)", ("NUMERIC", "DECIMAL", "DEC")
_REFUSED = {
    TokenType.BIT_STRING: "texts of bits", TokenType.HEX_STRING: "texts of bytes",
    TokenType.UNICODE_STRING: "texts that begin with U&",
}
_ANY = ("ANY", "SOME", "ALL")
_HOLE = re.compile("\0([0-9]+)\0")  # no text of a client may hold the character 0


@dataclass
class Translated:
    """Text of Sash's SQL, and where its parts come from."""

    sql: str = ""
    begins: list[int] = field(default_factory=list)  # of tokens, in the new text
    origins: list[int] = field(default_factory=list)  # in the text of the client

    def error(self, error: SashError) -> WireError:
        """An error of Sash about this text, for the client."""
        position = None
        if isinstance(error, SqlError) and error.start is not None and self.begins:
            at = max(0, bisect_right(self.begins, error.start) - 1)
            position = self.origins[at] + 1
        return WireError(code_of(error), error.message, error.hint, position)


def _array(token: Token) -> str:
    return literal(value_of(token.text.encode(), ARRAYS[TEXT], 0))


def translate(statement: Statement, parameters: Sequence[Any] = ()) -> Translated:
    return _Translation(statement, parameters).run()


@dataclass(frozen=True)
class Written:
    """A statement in Sash's spelling, between its values: it is asked many times with others."""

    parts: tuple[str, ...]
    numbers: tuple[int, ...]  # of the parameters that stand between them

    @staticmethod
    def of(statement: Statement) -> Written:
        first, *rest = _HOLE.split(_Translation(statement, None).run().sql)
        return Written((first, *rest[1::2]), tuple(map(int, rest[::2])))

    def sql(self, parameters: Sequence[Any]) -> str | None:
        """With these values; None if some is not there."""
        if any(not 1 <= number <= len(parameters) for number in self.numbers):
            return None
        values = [literal(parameters[number - 1]) for number in self.numbers]
        return self.parts[0] + "".join(value + part for value, part in zip(values, self.parts[1:], strict=True))


def parameter_count(statement: Statement) -> int:
    """The greatest number of a parameter that is named."""
    pairs = zip(statement.tokens, statement.tokens[1:], strict=False)
    numbers = [int(after.text) for before, after in pairs if _is_parameter(before, after)]
    if numbers and max(numbers) > 0xFFFF:
        raise WireError("42P02", f"there is no parameter ${max(numbers)}")
    return max(numbers, default=0)


def parameter_types(statement: Statement, given: Sequence[int]) -> tuple[int, ...]:
    """Those of all parameters. What a client has not said (0) is a text, or an array where x = ANY($1) or $1::text[] says so."""
    count, arrays = parameter_count(statement), set(_array_parameters(statement.tokens))
    known = [*given, *[0] * count][: max(count, len(given))]
    return tuple(ARRAYS[TEXT] if not oid and number in arrays else oid for number, oid in enumerate(known, 1))


def _array_parameters(tokens: Sequence[Token]) -> Iterator[int]:
    for word, opened, sign, number, closed in zip(*(tokens[start:] for start in range(5)), strict=False):
        is_any = word.text.upper() in _ANY and opened.token_type is TokenType.L_PAREN
        if is_any and _is_parameter(sign, number) and closed.token_type is TokenType.R_PAREN:
            yield int(number.text)
    for sign, number, cast, _, bracket in zip(*(tokens[start:] for start in range(5)), strict=False):
        is_cast = cast.token_type is TokenType.DCOLON and bracket.token_type is TokenType.L_BRACKET
        if is_cast and _is_parameter(sign, number):
            yield int(number.text)


def _is_parameter(before: Token, after: Token) -> bool:
    is_number = after.token_type is TokenType.NUMBER and after.text.isascii() and after.text.isdigit()
    return before.token_type is TokenType.PARAMETER and before.text == "$" and is_number and after.start == before.end + 1


class _Translation:
    def __init__(self, statement: Statement, parameters: Sequence[Any] | None) -> None:
        """Without parameters the text has holes for them."""
        self._statement = statement
        self._tokens = statement.tokens
        self._parameters = parameters
        self._made = Translated()
        self._casts: list[bool] = []  # for every parenthesis that is open, whether it is that of a CAST
        self._at = 0

    def run(self) -> Translated:
        end = self._tokens[0].start if self._tokens else 0
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            written = self._next(token)
            if written:
                self._made.sql += " " * (token.start > end)
                self._made.begins.append(len(self._made.sql))
                self._made.origins.append(token.start)
                self._made.sql += written
                end = self._tokens[self._at - 1].end + 1
        return self._made

    def _next(self, token: Token) -> str:
        """The new text of the next token or tokens."""
        self._at += 1
        kind = token.token_type
        after = self._tokens[self._at] if self._at < len(self._tokens) else None
        if after is not None and _is_parameter(token, after):
            self._at += 1
            return self._value(int(after.text), token)
        if after is not None and after.token_type is TokenType.DOT and self._is_our_schema(token):
            self._at += 1
            return ""
        if "\0" in token.text:  # an escape in a text may say so; it would be taken for a hole
            raise WireError("22021", "a text cannot hold the character 0", position=token.start + 1)
        if kind in STRINGS:
            return _array(token) if self._is_array() else string(token.text)
        if kind is TokenType.IDENTIFIER:
            return quoted(token.text)
        if kind in _REFUSED:
            raise not_supported(f"{_REFUSED[kind]} are not supported", "write a plain text in single quotes")
        if token.text in ("`", "{", "}", "#", "\\") or kind in (TokenType.PARAMETER, TokenType.UNKNOWN):
            raise WireError("42601", f'"{token.text}" was not expected here', position=token.start + 1)
        return self._word(token, after)

    def _word(self, token: Token, after: Token | None) -> str:
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            before = self._tokens[self._at - 2].text.upper() if self._at >= 2 else ""
            self._casts.append(before in ("CAST", "TRY_CAST"))
        elif kind is TokenType.R_PAREN and self._casts:
            self._casts.pop()
        elif kind is TokenType.RLIKE:
            return " RLIKE "
        elif kind is TokenType.NOT and token.text == "!" and after is not None and after.token_type is TokenType.RLIKE:
            return " NOT "
        elif kind is TokenType.IRLIKE:
            raise not_supported("~* is not supported", "use LOWER(…) ~ '…', or ILIKE")
        if self._is_type():
            is_plain = after is None or after.token_type is not TokenType.L_PAREN
            if token.text.upper() in _DECIMAL_NAMES and is_plain:
                return _ANY_DECIMAL
            return _TYPES.get(" ".join(token.text.upper().split()), str(token.text))
        return str(token.text)

    def _is_type(self) -> bool:
        before = self._tokens[self._at - 2] if self._at >= 2 else None
        if before is None:
            return False
        is_in_cast = bool(self._casts) and self._casts[-1] and before.token_type is TokenType.ALIAS
        return before.token_type is TokenType.DCOLON or is_in_cast

    def _is_array(self) -> bool:
        """Whether a text is an array: x = ANY('{a,b}'), or '{1,2}'::int8[]."""
        before = self._tokens[max(0, self._at - 3) : self._at - 1]
        after = [token.token_type for token in self._tokens[self._at : self._at + 3]]
        is_any = len(before) == 2 and before[0].text.upper() in _ANY and before[1].token_type is TokenType.L_PAREN
        is_cast = after[:1] == [TokenType.DCOLON] and after[2:] == [TokenType.L_BRACKET]
        return is_cast or (is_any and after[:1] == [TokenType.R_PAREN])

    def _is_our_schema(self, token: Token) -> bool:
        """Whether it names the only schema, or the database before it."""
        if token.token_type in STRINGS:
            return False
        name = token.text if token.token_type is TokenType.IDENTIFIER else token.text.lower()
        if name == DATABASE:
            ahead = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
            return ahead is not None and ahead.text.lower() == SCHEMA
        is_first = self._at < 2 or self._tokens[self._at - 2].token_type is not TokenType.DOT
        return name == SCHEMA and (is_first or self._tokens[self._at - 3].text.lower() == DATABASE)

    def _value(self, number: int, token: Token) -> str:
        if self._parameters is None:
            return f"\0{number}\0"
        if not 1 <= number <= len(self._parameters):
            raise WireError("42P02", f"there is no parameter ${number}", position=token.start + 1)
        return literal(self._parameters[number - 1])
