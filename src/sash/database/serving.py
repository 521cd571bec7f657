"""A database as the doors of `sash.serve` see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sash.database.answer import Answer, Rows
from sash.errors import SashError
from sash.runtime.packets import changes_schema
from sash.runtime.subscribing import Subscription
from sash.sql.catalog import Catalog
from sash.sql.syntax.parse import parse_query_text

if TYPE_CHECKING:
    from sash.database.database import Database


class ServedDatabase:
    """Reads of many clients, which are told why where the database cannot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def catalog(self) -> Catalog:
        return self._database.catalog

    def execute(self, sql: str) -> Rows | None:
        return self._database.execute(sql)

    def query(self, sql: str) -> Answer:
        return self._database.query(sql)

    def columns(self, sql: str) -> pa.Schema:
        with self._database.turns.turn():
            questions = self._database.questions
            known = questions.recalled(sql)
            if known is None and (query := parse_query_text(sql)).is_approximate:
                return questions.estimate(query, self.catalog)[0].schema
            return (known or questions.learnt(sql, query, self.catalog)).schema.arrow

    def change_columns(self, view: str) -> pa.Schema:
        found = self.catalog.views.get(view.lower())
        if found is None:
            raise SashError(f'unknown view "{view}"', f"views are: {', '.join(one.name for one in self.catalog.views.values())}")
        return changes_schema(found.plan.schema)

    def subscribe(self, view: str, timeout: float) -> Subscription:
        """With the answer first, so that what comes adds up to it at every instant."""
        return self._database.subscribe(view, timeout, snapshot=True)
