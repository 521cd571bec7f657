"""Commands. A mistake of the user ends with status 2 and one clear message."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sash.bench.registry import BENCHMARKS, choose
from sash.bench.report import Options
from sash.errors import SashError

EXPIRIES = ("auto", "direct", "negative", "time-message", "piggyback", "input-triggered")
INTERRUPTED = 130


class Commands(click.Group):
    """Turns errors into messages."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except SashError as error:
            click.echo(f"sash: {error}", err=True)
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
@click.option("--batch-rows", type=click.IntRange(min=1), metavar="N", help="At most N rows of every stream in a batch.")
@click.option("--shards", type=click.IntRange(min=1), metavar="N", help="Spark: parts of the key space  [default: cores]")
@click.option("--metrics", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.json",
              help="Write what operators, arcs and views did: rows by sign, time, state, delays.")
@click.option("--allow-unreadable", is_flag=True, help="End well even if not a single row could be read.")
@click.option("--no-flush", is_flag=True, help="Leave the end of the input open: more files may come later.")
def run(job: Path, engine: str, **options: object) -> None:
    """Run the views of a job over its streams.

    Files are read to their end; other sources until Ctrl-C.
    """
    from sash.commands.run import RunOptions, run_embedded, run_on_spark

    settings = RunOptions(job=job, **options)  # type: ignore[arg-type]
    (run_on_spark if engine == "spark" else run_embedded)(settings)


@main.command()
@JOB
@click.option("--analyze", is_flag=True, help="Run the job in this process first; show what was counted beside the estimates.")
def explain(job: Path, analyze: bool) -> None:
    """Show how the views of a job will be run."""
    from sash.commands.explain import explain_job

    click.echo(explain_job(job, is_analyze=analyze))


@main.command()
@click.option("--rows", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Connections to make up.")
@click.option("--seed", type=int, default=7, show_default=True)
@click.option("--engine", type=click.Choice(["spark", "embedded"]), default="spark", show_default=True)
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Keep a picture of it.")
def demo(rows: int, seed: int, engine: str, record: Path | None) -> None:
    """Three continuous queries over the traffic of a network, on Spark."""
    from sash.commands.demo import run_demo

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


BENCHMARK_LIST = "\n".join(f"  {'*' if one.in_suite else ' '} {one.name:10} {one.what}" for one in BENCHMARKS)


@main.command(epilog=f"\b\nNAMEs (* run when none is given):\n{BENCHMARK_LIST}")
@click.argument("names", type=click.Choice([one.name for one in BENCHMARKS]), nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Fewer rows, smaller windows, fewer runs: all in three minutes.")
@click.option("--rows", type=click.IntRange(min=1000), metavar="N", help="Rows of a stream  [default: as the benchmark likes]")
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Runs of everything  [default: as the benchmark likes]")
@click.option("--connections", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE.csv.gz",
              help="patterns: play this connection log too (columns service, orig_h, resp_h).")
@click.option("--peers", metavar="A,B", callback=lambda context, parameter, value: tuple(value.split(",")) if value else (),
              help="peers: spark, duckdb, flink, pathway, bytewax; installed on request, each into an environment of its own.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("bench-results"), show_default=True,
              metavar="DIR", help="Numbers, tables and figures go here.")
def bench(names: tuple[str, ...], out: Path, **options: object) -> None:
    """Measure Sash against its limits, in turns, in one run; ratios first."""
    from sash.commands.bench import bench as run_benchmarks

    if options["peers"] and "peers" not in names:
        names = (*(names or [one.name for one in choose(())]), "peers")
    run_benchmarks(choose(names), Options(**options), out)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
