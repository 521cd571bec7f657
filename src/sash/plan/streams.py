"""Declared streams and tables: what CREATE STREAM and CREATE TABLE say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sash.schema import Schema

POLLED = "jdbc"
KEYED = "debezium"
VERSIONED = "delta"
FOLLOWED = (POLLED, KEYED, VERSIONED)  # formats of tables that follow something outside


class Stamp(Enum):
    """Where the timestamps of a stream come from."""

    EXTERNAL = "external"  # a column of the row
    INTERNAL = "internal"  # given at arrival
    LATENT = "latent"  # given by the first operator that needs one


class Updates(Enum):
    """What a change of a table does to the answers of queries."""

    NEVER = "never"  # the table is a file and does not change
    RETROACTIVE = "retroactive"  # results are revised
    NON_RETROACTIVE = "non retroactive"  # only rows that come later see it


@dataclass(frozen=True)
class StreamSpec:
    """A stream, or a table (`is_table`), as declared."""

    name: str
    schema: Schema
    stamp: Stamp = Stamp.INTERNAL
    timestamp: int | None = None  # the column of TIMESTAMP BY
    delay: int = 0  # microseconds that a row may come after a younger one
    idle: int | None = None  # microseconds without rows after which the clock goes on by itself
    is_table: bool = False
    updates: Updates = Updates.NEVER  # tables only
    options: tuple[tuple[str, str], ...] = ()  # of WITH (...), keys in lower case
    is_unit: bool = False  # its source tells no order: all rows of a batch come at once
    partition: tuple[str, ...] = ()  # the columns of its DataFrame that name the partition of the source ...
    position: str | None = None  # ... and the place of a row in it
    paths: tuple[tuple[str, str], ...] = ()  # columns that lie deeper in a JSON object than its keys, and where: '$.a.b'
    metadata: tuple[tuple[str, str], ...] = ()  # columns that the source tells beside a message, and what it calls them

    @property
    def is_in_order(self) -> bool:
        """Whether its rows come one after the other, as those of files and of a program do; else Spark brings them in tasks."""
        return not self.is_unit and self.position is None

    @cached_property
    def changes_from(self) -> str | None:
        """Of a table: the stream of its changes, if it has one."""
        return self.option("changes") if self.is_table else None

    @cached_property
    def is_followed(self) -> bool:
        """Of a table: whether it holds what something outside holds, which is looked at again and again."""
        return self.is_table and (self.option("format") or "").lower() in FOLLOWED

    @property
    def key(self) -> tuple[int, ...]:
        """Of a followed table: the columns of its PRIMARY KEY."""
        said = self.option("key")
        return () if said is None else tuple(self.schema.index(name.strip().strip("`")) for name in said.split(","))

    @property
    def path(self) -> str | None:
        """The files that its rows are read from."""
        return None if self.is_followed else self.option("path")

    @cached_property
    def encoding(self) -> str | None:
        """How a message is written that has the columns in it; None where the source gives columns."""
        return self.option("encoding")

    def option(self, key: str) -> str | None:
        return dict(self.options).get(key)
