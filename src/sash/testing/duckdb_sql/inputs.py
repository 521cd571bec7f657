"""What the oracle must put into the tables of a rewritten query."""

from __future__ import annotations

from dataclasses import dataclass

from sash.plan.nodes import Pairing
from sash.plan.windows import WindowShape
from sash.sql.syntax.statements import ParsedQuery
from sash.testing.duckdb_sql.time import AskedTime


@dataclass(frozen=True)
class OracleInput:
    """What the table `input_<position>` must hold: a stream or view by its name, the answer of a query, or more.

    A window is given for every stream, and for a view or query of which a stream is read (`reads` says which); None
    means the relation itself.
    """

    position: int
    name: str | None
    window: WindowShape | None
    query: ParsedQuery | None = None
    reads: str = "ISTREAM"
    sequence: OracleSequence | None = None
    is_right: bool = False  # which half of the sequence's pairs
    minus: OracleMinus | None = None


@dataclass(frozen=True)
class OracleSequence:
    """Two streams; `sql` gives the pairs of rows, by their `_row` numbers, that the condition lets meet."""

    left: OracleInput
    right: OracleInput
    sql: str
    pairing: Pairing
    within: int | None


@dataclass(frozen=True)
class OracleMinus:
    left: OracleInput
    right: OracleInput
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    by_position: bool


@dataclass(frozen=True)
class OracleQuery:
    """Text and inputs; `emit` is the period of EMIT EVERY, `time` what a query that asks for the time does with it."""

    sql: str
    inputs: tuple[OracleInput, ...]
    emit: int | None = None
    time: AskedTime | None = None
