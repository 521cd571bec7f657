"""`sash shell`: a prompt for SQL, on either host or connected to a server; statements from a file or a pipe likewise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from sash.cli.background import BackgroundJob
from sash.cli.job_file import load
from sash.cli.screen import printable, tell
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.shell.connections import Connection, OwnDatabase
from sash.shell.session import Quit, Session


@dataclass(frozen=True)
class ShellOptions:
    """What the command line says."""

    job: Path | None = None
    engine: str = "embedded"
    server: str | None = None
    checkpoint: str | None = None
    output: Path | None = None
    commands: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        return Path.cwd() if self.job is None else self.job.resolve().parent

    @property
    def is_for_people(self) -> bool:
        """Whether somebody types; else statements come by -c or from a pipe, or answers go into one."""
        return not self.commands and sys.stdin.isatty() and sys.stdout.isatty()


def open_shell(options: ShellOptions) -> None:
    """Until its input is over. What is typed may be wrong; statements of a file or a pipe end with the first mistake."""
    if options.is_for_people:
        _need_prompt()
    with _connected(options) as connection:
        session = Session(connection, lambda text: click.echo(printable(text)))
        if not options.is_for_people:
            with suppress(Quit):
                for text in options.commands or (sys.stdin.read(),):
                    session.take(text)
            return
        from sash.shell.prompt import interact

        click.echo(f"{connection.title}; \\? for help, \\q to leave")
        interact(session, tell)


def _need_prompt() -> None:
    try:
        import prompt_toolkit  # noqa: F401
    except ImportError:
        raise SashError(
            "a prompt needs prompt_toolkit", 'pip install "sash[shell]"; or pipe statements into sash shell, or give them by -c'
        ) from None


@contextmanager
def _connected(options: ShellOptions) -> Iterator[Connection]:
    if options.server is not None:
        if options.job is not None or options.engine != "embedded":
            raise SashError("a server has its own job and engine", "leave JOB.sql and --engine out, or --connect")
        from sash.shell.remote import Server

        server = Server(options.server)
        try:
            yield server
        finally:
            server.close()
    elif options.engine == "spark":
        yield from _on_spark(options)
    else:
        yield from _here(options)


def _here(options: ShellOptions) -> Iterator[Connection]:
    for name, value in (("--checkpoint", options.checkpoint), ("--output", options.output)):
        if value is not None:
            raise SashError(f"{name} needs --engine spark")
    with EmbeddedDatabase(base=options.base) as db:
        if options.job is not None:
            load(db, options.job)
            if options.is_for_people:
                BackgroundJob(db, lambda: tell("the input of the job is over; its views stay")).start()
            else:
                db.run()  # who asks once asks about all of it
        yield OwnDatabase(db, "a database in this process" if options.job is None else f"{options.job}, in this process")


def _on_spark(options: ShellOptions) -> Iterator[Connection]:
    from sash.database.on_spark import SparkDatabase
    from sash.spark.session import local_session

    with SparkDatabase(local_session, checkpoint=options.checkpoint, output=options.output, base=options.base) as db:
        if options.job is not None:
            load(db, options.job)
            db.start()
            if not options.is_for_people:
                db.drain()
        yield OwnDatabase(db, "a database on Spark" if options.job is None else f"{options.job}, on Spark")
