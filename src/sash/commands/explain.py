"""`sash explain`: the plans of a job."""

from __future__ import annotations

from pathlib import Path

from sash.commands.job_file import load
from sash.session import Database


def explain_job(job: Path, *, is_analyze: bool = False) -> str:
    """With `is_analyze` the job is run first, in this process."""
    db = Database(base=job.resolve().parent)
    load(db, job)
    if is_analyze:
        db.run()
    told = {view.name: db.analyze(view.name) if is_analyze else db.explain(view.plan) for view in db.materialized().values()}
    return "\n\n".join(f"{name}\n\n{_indented(text)}" for name, text in told.items())


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
