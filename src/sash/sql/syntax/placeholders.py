"""The places of a text where values are to be written: question marks that are neither in a text nor in a comment."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from sash.sql.syntax.dialect import tokenize
from sash.sql.syntax.text_positions import within


def around_placeholders(sql: str) -> list[str]:
    """The parts of a text before, between and after them: always one more than there are."""
    parts, start = list[str](), 0
    with within(sql):
        for token in tokenize(sql):
            if token.token_type is TokenType.PLACEHOLDER:
                parts.append(sql[start : token.start])
                start = token.end + 1
    return [*parts, sql[start:]]
