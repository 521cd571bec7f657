"""The places of a text where values are to be written: question marks that are neither in a text nor in a comment."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from sash.sql.syntax.dialect import tokenize
from sash.sql.syntax.text_positions import fault, within

_JOINED = "_.'\"`?"  # with letters and digits: what a value would be one word with, ?1 and 7 the number 71


def around_placeholders(sql: str) -> list[str]:
    """The parts of a text before, between and after them: always one more than there are."""
    parts, start = list[str](), 0
    with within(sql):
        for token in tokenize(sql):
            if token.token_type is TokenType.PLACEHOLDER:
                _check_apart(sql, token)
                parts.append(sql[start : token.start])
                start = token.end + 1
    return [*parts, sql[start:]]


def _check_apart(sql: str, token: Token) -> None:
    beside = sql[max(0, token.start - 1) : token.start] + sql[token.end + 1 : token.end + 2]
    if any(character.isalnum() or character in _JOINED for character in beside):
        raise fault(token, "a ? stands for one whole value", "set it apart; values are given in the order of the ?")
