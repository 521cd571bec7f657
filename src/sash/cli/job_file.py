"""A job file: read, with its mistakes told at their place."""

from __future__ import annotations

from pathlib import Path

from sash.database.database import Database
from sash.errors import SashError, SqlError


def load(db: Database, job: Path) -> None:
    """Carry out the statements of a job on a database whose base is the job's folder."""
    try:
        text = job.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SashError(f"{job} is not a text file in UTF-8") from None
    try:
        db.execute(text)
    except SqlError as error:
        raise SashError(f"{job}: {error}") from None
    if not db.materialized():
        raise SashError(f"{job} creates no materialized view, so there is nothing to run", "add CREATE MATERIALIZED VIEW …")
