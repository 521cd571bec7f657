"""COPY … TO STDOUT, read from its tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.tokenizer_core import TokenType

from sash.serve.postgres.failures import not_supported
from sash.serve.postgres.lexer import STRINGS, Statement, statements


@dataclass(frozen=True)
class CopyOut:
    """`subscribes` names a view whose changes are copied as they come; else the rows of a query are."""

    query: Statement | None
    subscribes: str | None
    options: dict[str, str] = field(default_factory=dict)


def copy_out(statement: Statement) -> CopyOut:
    """COPY (query) | (SUBSCRIBE [TO] view) | name [(columns)] TO STDOUT [WITH] [(option value, …)]"""
    words = [statement.word(place) for place in range(len(statement.tokens))]
    if "STDIN" in words:
        raise not_supported("rows are not copied in", "use INSERT")
    at = _end_of_source(statement)
    if words[at : at + 2] != ["TO", "STDOUT"]:
        raise not_supported("a COPY goes TO STDOUT only: files of the server are not written")
    options = _copy_options(statement, at + 2)
    source = statement.within(1, at)
    if source.tokens and source.tokens[0].token_type is TokenType.L_PAREN:
        inner = source.within(1, len(source.tokens) - 1)
        if inner.word(0) == "SUBSCRIBE":
            name_at = 2 if inner.word(1) == "TO" and len(inner.tokens) > 2 else 1
            return CopyOut(None, inner.name(len(inner.tokens) - 1 if len(inner.tokens) > name_at else name_at), options)
        return CopyOut(inner, None, options)
    return CopyOut(_select_of(source), None, options)


def _end_of_source(statement: Statement) -> int:
    """The place of the TO that no parenthesis holds."""
    depth = 0
    for place, token in enumerate(statement.tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and statement.word(place) == "TO":
            return place
    raise statement.unexpected(len(statement.tokens), "TO STDOUT")


def _select_of(source: Statement) -> Statement:
    """COPY of a view by its name, with or without columns, as a query."""
    if not source.tokens:
        raise source.unexpected(0, "the name of a view, or a query in parentheses")
    opening = next((at for at, token in enumerate(source.tokens) if token.token_type is TokenType.L_PAREN), len(source.tokens))
    name, columns = source.within(0, opening).sql, source.within(opening + 1, len(source.tokens) - 1).sql
    return statements(f"SELECT {columns or '*'} FROM {name}")[0]


def _copy_options(statement: Statement, at: int) -> dict[str, str]:
    """(FORMAT csv, HEADER true), or as it was written before: CSV HEADER."""
    if statement.word(at) == "WITH":
        at += 1
    if at < len(statement.tokens) and statement.tokens[at].token_type is TokenType.L_PAREN:
        return dict(_option(part) for part in _parts(statement.within(at + 1, len(statement.tokens) - 1)))
    found = {}
    for word in statement.within(at).words():
        if word in ("CSV", "BINARY", "TEXT"):
            found["FORMAT"] = word
        elif word == "HEADER":
            found["HEADER"] = "TRUE"
        else:
            raise statement.unexpected(at, "CSV, BINARY, HEADER, or options in parentheses")
    return found


def _parts(statement: Statement) -> list[Statement]:
    commas = [at for at, token in enumerate(statement.tokens) if token.token_type is TokenType.COMMA]
    return [statement.within(begin, end) for begin, end in zip([0, *(at + 1 for at in commas)], [*commas, None], strict=True)]


def _option(part: Statement) -> tuple[str, str]:
    if not part.tokens:
        raise part.unexpected(0, "an option")
    value = part.tokens[1] if len(part.tokens) > 1 else None
    if value is None:
        return part.word(0), "TRUE"
    return part.word(0), str(value.text) if value.token_type in STRINGS else str(value.text).upper()
