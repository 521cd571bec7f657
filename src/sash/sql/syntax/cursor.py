"""A walk over tokens, for the parts of the language that SQL does not have."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot.tokenizer_core import Token, TokenType

from sash.errors import SqlError
from sash.numerals import exact
from sash.sql.syntax.text_positions import Name, Place, fault

_NOT_WORDS = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER)


class Cursor:
    """The tokens of one statement and how far we are."""

    def __init__(self, tokens: Sequence[Token], index: int = 0) -> None:
        self.tokens = tokens
        self.index = index

    @property
    def current(self) -> Token | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    @property
    def last(self) -> Token:
        """The token taken last."""
        return self.tokens[max(0, self.index - 1)]

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these key words."""
        ahead = self.tokens[self.index : self.index + len(words)]
        return len(ahead) == len(words) and all(_is_word(t, w) for t, w in zip(ahead, words, strict=True))

    def accept(self, *words: str) -> bool:
        """Take these key words if they are next."""
        found = self.sees(*words)
        if found:
            self.index += len(words)
        return found

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.unexpected(" ".join(words))

    def name(self, what: str) -> Name:
        """A name, plain or in backquotes."""
        token = self.current
        if token is None or not (token.token_type is TokenType.IDENTIFIER or _looks_like_name(token)):
            raise self.unexpected(what)
        self.index += 1
        return Name(token.text, Place(token.start, token.end + 1))

    def string(self, what: str) -> str:
        return self._value(TokenType.STRING, what)

    def number(self, what: str) -> Decimal:
        value = exact(self._value(TokenType.NUMBER, what))
        if value is None:
            raise fault(self.last, f'"{self.last.text}" is not a number')
        return value

    def unexpected(self, wanted: str) -> SqlError:
        """The fault of finding something else than `wanted` here."""
        if self.current is None:
            end = self.last.end + 1
            return fault(Place(end, end + 1), f"expected {wanted}, but the statement ends here")
        return fault(self.current, f'expected {wanted}, found "{self.current.text}"')

    def _value(self, type_: TokenType, what: str) -> str:
        token = self.current
        if token is None or token.token_type is not type_:
            raise self.unexpected(what)
        self.index += 1
        return str(token.text)


def _is_word(token: Token, word: str) -> bool:
    return token.token_type not in _NOT_WORDS and " ".join(token.text.upper().split()) == word


def _looks_like_name(token: Token) -> bool:
    return token.token_type not in _NOT_WORDS and token.text.replace("$", "_").isidentifier()
