"""`sash serve`: a job that runs in this process, with doors for others."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import click

from sash.cli.job_file import load
from sash.cli.report import Report, summary
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.serve.door import Door
from sash.serve.limits import Limits

POLL = 0.5  # seconds between two looks at the clock, for streams whose time goes on while no row comes
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
            _Run(db, report).until_asked_to_end()


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


class _Run:
    """The job in a thread of its own, while this one waits for a signal."""

    def __init__(self, db: EmbeddedDatabase, report: Report) -> None:
        self._db = db
        self._report = report
        self._is_over = threading.Event()
        self._failure: BaseException | None = None

    def until_asked_to_end(self) -> None:
        before = {name: signal.signal(name, lambda *_: self._is_over.set()) for name in (signal.SIGINT, signal.SIGTERM)}
        thread = threading.Thread(target=self._work, name="sash-job", daemon=True)
        thread.start()
        try:
            self._is_over.wait()
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)
        if self._failure is not None:
            raise SashError(f"the job ended: {self._failure}")
        self._report.say("stopped")

    def _work(self) -> None:
        try:
            if any(stream.option("path") is not None for stream in self._db.catalog.streams.values()):
                self._db.run()
                self._report.say(f"{summary(self._report.last)}; its input is over, and its views are still served")
            while not self._is_over.wait(POLL):
                self._db.poll()
        except BaseException as failure:
            if not self._is_over.is_set():
                self._failure = failure
        self._is_over.set()
