"""SQL as clients of PostgreSQL write it, cut into statements of tokens: "names" in double quotes, 'texts' in single ones,
E'…', $$…$$, comments, and $1 for a value that comes later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sash.serve.postgres.failures import WireError
from sash.sql.syntax.dialect import no_tokens

STRINGS = (TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING)
_NOT_WORDS = (*STRINGS, TokenType.IDENTIFIER, TokenType.NUMBER)


class PostgresTokens(Postgres):
    """PostgreSQL's tokens; sqlglot would take the rest of some statements as one."""

    class Tokenizer(Postgres.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()


@dataclass(frozen=True)
class Statement:
    """The tokens of one statement, at their places in the whole text."""

    text: str
    tokens: tuple[Token, ...]

    @property
    def sql(self) -> str:
        return self.text[self.tokens[0].start : self.tokens[-1].end + 1] if self.tokens else ""

    def word(self, place: int) -> str:
        """The key word at a place, in capitals; "" if there is none."""
        if place >= len(self.tokens) or self.tokens[place].token_type in _NOT_WORDS:
            return ""
        return " ".join(self.tokens[place].text.upper().split())

    def words(self) -> Iterator[str]:
        return (word for place in range(len(self.tokens)) if (word := self.word(place)))

    def name(self, place: int) -> str:
        """The name at a place: as it is in quotes, else in small letters."""
        if place < len(self.tokens):
            token = self.tokens[place]
            if token.token_type is TokenType.IDENTIFIER:
                return str(token.text)
            if token.token_type not in _NOT_WORDS and token.text.replace("$", "_").isidentifier():
                return str(token.text.lower())
        raise self.unexpected(place, "a name")

    def within(self, start: int, end: int | None = None) -> Statement:
        return Statement(self.text, self.tokens[start:end])

    def unexpected(self, place: int, wanted: str) -> WireError:
        if place >= len(self.tokens):
            return WireError("42601", f"expected {wanted} at the end of the statement", position=len(self.text) + 1)
        token = self.tokens[place]
        return WireError("42601", f'expected {wanted}, found "{token.text}"', position=token.start + 1)


def statements(text: str) -> list[Statement]:
    """The statements of a text, without those that are empty."""
    found, current = [], []
    for token in _tokens(text):
        if token.token_type is not TokenType.SEMICOLON:
            current.append(token)
        elif current:
            found.append(Statement(text, tuple(current)))
            current = []
    return [*found, Statement(text, tuple(current))] if current else found


def _tokens(text: str) -> list[Token]:
    if "\0" in text:
        raise WireError("22021", "a text may not hold the character 0")
    try:
        return PostgresTokens().tokenize(text)
    except TokenError as error:
        place, what, hint = no_tokens(error, text)
        raise WireError("42601", what, hint=hint, position=place.start + 1) from None
