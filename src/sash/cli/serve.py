"""`sash serve`: a job that runs in this process, with doors for others."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from sash.cli.background import BackgroundJob
from sash.cli.job_file import load
from sash.cli.report import Report, summary
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.serve.door import Door
from sash.serve.limits import Limits

SWITCH = 0.0005  # seconds after which a thread that computes lets another go on: clients do not wait for Python's usual 5 ms


@dataclass(frozen=True)
class ServeOptions:
    """What the command line says."""

    job: Path
    host: str = "127.0.0.1"
    port: int = 5433
    flight_port: int | None = None
    password_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    grants: tuple[str, ...] = ()
    connections: int = 100
    statement_timeout: float = 60.0
    batch_rows: int | None = None
    no_flush: bool = False


def serve_job(options: ServeOptions) -> None:
    """Until Ctrl-C, or until the process is asked to end."""
    sys.setswitchinterval(SWITCH)
    limits = Limits(connections=options.connections, statement_seconds=options.statement_timeout)
    with Report() as report:
        db = EmbeddedDatabase(
            base=options.job.resolve().parent, batch_rows=options.batch_rows, flush=not options.no_flush, on_progress=report,
        )
        load(db, options.job)
        with db, _door(db, options, limits) as door:
            _tell(door, options, [view.name for view in db.materialized().values()])
            _until_asked_to_end(db, report)


def _door(db: EmbeddedDatabase, options: ServeOptions, limits: Limits) -> Door:
    return db.serve(
        options.port, host=options.host, flight_port=options.flight_port, password_file=options.password_file,
        tls_cert=options.tls_cert, tls_key=options.tls_key, grants=options.grants, limits=limits,
    )


def _tell(door: Door, options: ServeOptions, views: list[str]) -> None:
    click.echo(f"serving {options.job} at {door.url}")
    click.echo(f'  psql "{door.url}" -c "SELECT * FROM {views[0]}"')
    if door.flight_port is not None:
        click.echo(f"  Arrow Flight: grpc{'+tls' if options.tls_cert else ''}://{options.host}:{door.flight_port}")
    if options.password_file is None:
        click.echo("  anybody on this machine may read; Ctrl-C ends it")
    sys.stdout.flush()


def _until_asked_to_end(db: EmbeddedDatabase, report: Report) -> None:
    """The job runs in a thread of its own, while this one waits for a signal."""

    def tell_of_the_end() -> None:
        report.say(f"{summary(report.last)}; its input is over, and its views are still served")

    job = BackgroundJob(db, tell_of_the_end)
    before = {name: signal.signal(name, lambda *_: job.is_over.set()) for name in (signal.SIGINT, signal.SIGTERM)}
    job.start()
    try:
        job.is_over.wait()
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
    if job.failure is not None:
        raise SashError(f"the job ended: {job.failure}")
    report.say("stopped")
