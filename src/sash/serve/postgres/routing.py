"""Who answers a query: the database, or PostgreSQL's catalog, which clients ask for what there is."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from sash.serve.postgres.catalog.relations import relations
from sash.serve.postgres.lexer import STRINGS, Statement
from sash.sql.catalog import Catalog

_SCHEMAS = ("pg_catalog", "information_schema")


def may_be_about_catalog(statement: Statement) -> bool:
    """Whether that is to be asked: most statements name nothing that the catalog has, whatever is declared."""
    known = {name for _, name in relations()}
    named = (token.text.lower() for token in statement.tokens if token.token_type not in STRINGS)
    return "FROM" not in statement.words() or any(name in _SCHEMAS or name in known for name in named)


def is_about_catalog(statement: Statement, catalog: Catalog) -> bool:
    """A query that names a relation of PostgreSQL's catalog, or that reads nothing: it asks for the session, or whether
    anybody is there (SELECT 1)."""
    if "FROM" not in statement.words():
        return True
    return any(_names_catalog(statement, place, catalog) for place in range(len(statement.tokens)))


def _names_catalog(statement: Statement, place: int, catalog: Catalog) -> bool:
    token = statement.tokens[place]
    if token.token_type in STRINGS or token.token_type is TokenType.NUMBER:
        return False
    name = token.text.lower()
    if name in _SCHEMAS:
        return _is_followed_by(statement, place, TokenType.DOT)
    if ("pg_catalog", name) not in relations() or catalog.find(name) is not None:
        return False
    return not _is_followed_by(statement, place, TokenType.DOT) and statement.word(place - 1) in ("FROM", "JOIN", ",")


def _is_followed_by(statement: Statement, place: int, kind: TokenType) -> bool:
    return place + 1 < len(statement.tokens) and statement.tokens[place + 1].token_type is kind
