"""`sash explain`: the plans of a job."""

from __future__ import annotations

from pathlib import Path

from sash.commands.job_file import load
from sash.session import Database


def explain_job(job: Path) -> str:
    db = Database(base=job.resolve().parent)
    load(db, job)
    parts = [f"{view.name}\n\n{_indented(db.explain(view.plan))}" for view in db.materialized().values()]
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
