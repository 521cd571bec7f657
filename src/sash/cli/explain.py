"""`sash explain`: the plans of a job."""

from __future__ import annotations

from pathlib import Path

from sash.cli.job_file import load
from sash.database.embedded import EmbeddedDatabase


def explain_job(job: Path, *, is_analyze: bool = False) -> str:
    """With `is_analyze` the job is run first, in this process."""
    db = EmbeddedDatabase(base=job.resolve().parent)
    load(db, job)
    if is_analyze:
        db.run()
    told = {name: db.analyze(name) if is_analyze else db.explain(name) for name in db.materialized()}
    return "\n\n".join(f"{name}\n\n{_indented(text)}" for name, text in told.items())


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
