"""`sash run`: a job on either host, its outputs in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.cli.files import ChangeFiles
from sash.cli.job_file import load
from sash.cli.lost import Failure, Unreadable, counts, failure_lines, is_all_unreadable
from sash.cli.report import Report, summary
from sash.database.database import Database
from sash.database.embedded import EmbeddedDatabase
from sash.database.instants import parse_instant
from sash.errors import SashError
from sash.file_names import writing
from sash.runtime.progress import Progress

if TYPE_CHECKING:
    from sash.database.on_spark import SparkDatabase


@dataclass(frozen=True)
class RunOptions:
    """What the command line says."""

    job: Path
    output: Path | None = None
    checkpoint: str | None = None
    until: str | None = None
    expiry: str = "auto"
    schedule: str = "auto"
    join_schedule: str = "auto"
    batch_rows: int | None = None
    shards: int | None = None
    no_flush: bool = False
    metrics: Path | None = None
    allow_unreadable: bool = False

    @property
    def base(self) -> Path:
        return self.job.resolve().parent

    @property
    def limit(self) -> int | None:
        return None if self.until is None else parse_instant(self.until)


def run_embedded(options: RunOptions) -> None:
    for name, value in (("--checkpoint", options.checkpoint), ("--shards", options.shards)):
        if value is not None:
            raise SashError(f"{name} needs --engine spark")

    def after_batch(progress: Progress) -> None:
        files.write(db.taken_rows())
        report(progress)

    db = EmbeddedDatabase(
        base=options.base, expiry=options.expiry, schedule=options.schedule, join_schedule=options.join_schedule,
        backfill=False, history="all", until=options.limit, batch_rows=options.batch_rows, flush=not options.no_flush,
        on_progress=after_batch,
    )
    load(db, options.job)
    _check_sources(db)
    schemas = {name: view.plan.schema for name, view in db.materialized().items()}
    with db, Report() as report, ChangeFiles(options.output, schemas) as files:
        db.run()
        if options.output is not None:
            db.write_answers(options.output)
        _write_metrics(db.metrics, report, options)
        failures = db.failures()
    _tell(report, options, files.unreadable, failures)


def run_on_spark(options: RunOptions) -> None:
    from sash.database.on_spark import SparkDatabase
    from sash.spark.session import local_session

    with Report() as report:
        db = SparkDatabase(
            local_session, checkpoint=options.checkpoint, output=options.output, shards=options.shards,
            batch_rows=options.batch_rows, base=options.base, expiry=options.expiry, schedule=options.schedule,
            join_schedule=options.join_schedule, until=options.limit, flush=not options.no_flush, on_progress=report,
        )
        load(db, options.job)
        if options.checkpoint is not None and db.is_finished:
            db.run()  # an error if its outputs are gone
            report.say(f"the checkpoint {options.checkpoint} has seen the end of its input; give a new one to run the job again")
            return
        try:
            db.run()
            if options.output is not None:
                db.write_answers()
            _write_metrics(db.metrics, report, options)
            failures, unreadable = db.failures(), _unreadable(db) if report.last.dead else Unreadable()
        except KeyboardInterrupt:
            way = f"; run again with --checkpoint {options.checkpoint} to go on" if options.checkpoint else ""
            report.say(f"stopped{way}")
            raise
        finally:
            db.close()
    _tell(report, options, unreadable, failures)


def _check_sources(db: Database) -> None:
    for stream in db.catalog.streams.values():
        if stream.path is None and not stream.is_table:
            raise SashError(
                f'stream "{stream.name}" has no source', "add WITH (format = 'csv', path = '…') to its CREATE STREAM"
            )


def _write_metrics(metrics: Callable[[], dict[str, Any]], report: Report, options: RunOptions) -> None:
    if options.metrics is not None:
        last = report.last
        run = {"rows": last.rows, "changes": last.changes, "late": last.late, "dead": last.dead, "seconds": last.seconds}
        text = json.dumps({"run": run, **metrics()}, indent=2) + "\n"
        with writing(options.metrics):
            options.metrics.write_text(text)


def _unreadable(db: SparkDatabase) -> Unreadable:
    found = Unreadable()
    for stream in db.catalog.streams.values():
        if stream.path is not None:
            found.add(stream.name, db.dead(stream.name).to_batches())
    return found


def _tell(report: Report, options: RunOptions, unreadable: Unreadable, failures: Sequence[Failure]) -> None:
    """How it went, and what was lost on the way; an error if nothing could be read."""
    where = f" -> {options.output}" if options.output else ""
    report.say(f"{summary(report.last)}, {counts(report.last, failures)}{where}")
    for line in (*unreadable.lines(), *failure_lines(failures)):
        report.say(line)
    if is_all_unreadable(report.last) and not options.allow_unreadable:
        raise SashError("not a single row could be read", "mend the stream's columns or options, or say --allow-unreadable")
