"""Commands. A mistake of the user ends with status 2 and one clear message."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sash.cli.screen import plain_warnings, tell
from sash.errors import SashError

EXPIRIES = ("auto", "direct", "negative", "time-message", "piggyback", "input-triggered")
INTERRUPTED = 130


class Commands(click.Group):
    """Turns errors into messages."""

    def invoke(self, context: click.Context) -> object:
        try:
            with plain_warnings():
                return super().invoke(context)
        except SashError as error:
            tell(str(error))
            sys.exit(2)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="sash")
def main() -> None:
    """Continuous SQL queries over sliding windows, exactly up to date, on Spark."""


JOB = click.argument("job", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="JOB.sql")


@main.command()
@JOB
@click.option("--engine", type=click.Choice(["spark", "embedded"]), default="spark", show_default=True,
              help="Run on Spark, or in this process without a JVM.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write changes and answers of every view here, and late and dead rows.")
@click.option("--checkpoint", metavar="DIR", help="Spark: remember here how far the job is; run again to go on.")
@click.option("--until", metavar="TIME", help="Show nothing after this instant; the answer is that at TIME.")
@click.option("--expiry", type=click.Choice(EXPIRIES), default="auto", show_default=True,
              help="How rows leave: by their expiry as long as possible, or by negative rows from the windows on.")
@click.option("--schedule", default="auto", show_default=True, metavar="auto|dfs|bfs|rr|memory|batch:K",
              help="In which order operators run, and how many rows one takes at a time. No answer depends on it.")
@click.option("--join-schedule", default="auto", show_default=True, metavar="auto|lwo|swf|mqt",
              help="Which window of a join that queries share is served first while rows wait. No answer depends on it.")
@click.option("--batch-rows", type=click.IntRange(min=1), metavar="N", help="At most N rows of every stream in a batch.")
@click.option("--shards", type=click.IntRange(min=1), metavar="N",
              help="Spark: parts of the key space  [default: the checkpoint's, or cores]")
@click.option("--metrics", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.json",
              help="Write what operators, arcs and views did: rows by sign, time, state, delays.")
@click.option("--allow-unreadable", is_flag=True, help="End well even if not a single row could be read.")
@click.option("--no-flush", is_flag=True, help="Leave the end of the input open: more files may come later.")
def run(job: Path, engine: str, **options: object) -> None:
    """Run the views of a job over its streams.

    Files are read to their end; other sources until Ctrl-C.
    """
    from sash.cli.first_time import told_of_compiling
    from sash.cli.run import RunOptions, run_embedded, run_on_spark

    settings = RunOptions(job=job, **options)  # type: ignore[arg-type]
    with told_of_compiling(tell):
        (run_on_spark if engine == "spark" else run_embedded)(settings)


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@main.command()
@JOB
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; elsewhere with passwords and TLS only.")
@click.option("--port", type=click.IntRange(0, 65535), default=5433, show_default=True, help="Of PostgreSQL; 0: any.")
@click.option("--flight-port", type=click.IntRange(0, 65535), help="Serve Arrow Flight, too.")
@click.option("--password-file", type=FILE, help="Lines user:password; who is not named does not come in.")
@click.option("--tls-cert", type=FILE, help="The server's certificate.")
@click.option("--tls-key", type=FILE, help="Its key, if that is another file.")
@click.option("--grant", "grants", multiple=True, type=click.Choice(["change", "define"]),
              help="Clients may change rows, or define views; else they only read.")
@click.option("--connections", type=click.IntRange(min=1), default=100, show_default=True, help="Clients at a time.")
@click.option("--statement-timeout", type=click.FloatRange(min=0), default=60.0, show_default=True, metavar="SECONDS",
              help="How long a statement may take; 0: for ever.")
@click.option("--batch-rows", type=click.IntRange(min=1), metavar="N", help="At most N rows of every stream in a batch.")
@click.option("--no-flush", is_flag=True, help="Leave the end of the input open: rows may come from clients.")
def serve(job: Path, **options: object) -> None:
    """Run a job in this process, and let others read its views while it runs and after: psql, psycopg, Grafana …

    Ctrl-C ends it.
    """
    from sash.cli.first_time import told_of_compiling
    from sash.cli.serve import ServeOptions, serve_job

    with told_of_compiling(tell):
        serve_job(ServeOptions(job=job, **options))  # type: ignore[arg-type]


@main.command()
@click.argument("job", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="[JOB.sql]", required=False)
@click.option("--engine", type=click.Choice(["embedded", "spark"]), default="embedded", show_default=True,
              help="In this process without a JVM, or on Spark.")
@click.option("--connect", "server", metavar="URL", help="Talk to a server instead: postgresql://127.0.0.1:5433/sash")
@click.option("-c", "commands", multiple=True, metavar="SQL", help="Carry out these statements, and leave.")
@click.option("--checkpoint", metavar="DIR", help="Spark: remember here how far the job is.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Spark: write changes here.")
def shell(**options: object) -> None:
    """A prompt for SQL: declare, push time, ask, follow views as they change.

    With a job, its streams are read while you ask. Statements may also come from a pipe.
    """
    from sash.cli.shell import ShellOptions, open_shell

    open_shell(ShellOptions(**options))  # type: ignore[arg-type]


@main.command()
@JOB
@click.option("--analyze", is_flag=True, help="Run the job in this process first; show what was counted beside the estimates.")
def explain(job: Path, analyze: bool) -> None:
    """Show how the views of a job will be run."""
    from sash.cli.explain import explain_job

    click.echo(explain_job(job, is_analyze=analyze))


@main.command()
@click.option("--rows", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Connections to make up.")
@click.option("--seed", type=int, default=7, show_default=True)
@click.option("--engine", type=click.Choice(["spark", "embedded"]), default="spark", show_default=True)
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Keep a picture of it.")
def demo(rows: int, seed: int, engine: str, record: Path | None) -> None:
    """Three continuous queries over the traffic of a network, on Spark."""
    from sash.cli.demo import run_demo

    run_demo(rows, seed, engine, record)


@main.command()
@click.argument("name", type=click.Choice(["traffic", "pairs", "auctions"]))
@click.option("--rows", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("."), show_default=True, metavar="DIR")
@click.option("--format", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True)
def generate(name: str, rows: int, seed: int, out: Path, format: str) -> None:
    """Make up streams, the same for the same seed, and write them to files."""
    from sash.generate import generate as write

    for path in write(name, rows, seed, out, format):
        click.echo(path)


if __name__ == "__main__":
    main()
