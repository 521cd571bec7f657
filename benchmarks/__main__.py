"""`./run bench`, or `python -m benchmarks` from a checkout."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchmarks.registry import BENCHMARKS, choose
from benchmarks.report import Options
from benchmarks.running import bench as run_benchmarks
from sash.errors import SashError

BENCHMARK_LIST = "\n".join(f"  {'*' if one.in_suite else ' '} {one.name:10} {one.what}" for one in BENCHMARKS)


@click.command(epilog=f"\b\nNAMEs (* run when none is given):\n{BENCHMARK_LIST}")
@click.argument("names", type=click.Choice([one.name for one in BENCHMARKS]), nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Fewer rows, smaller windows, fewer runs: all in three minutes.")
@click.option("--rows", type=click.IntRange(min=1000), metavar="N", help="Rows of a stream  [default: as the benchmark likes]")
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Runs of everything  [default: as the benchmark likes]")
@click.option("--connections", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE.csv.gz",
              help="patterns: play this connection log too (columns service, orig_h, resp_h).")
@click.option("--peers", metavar="A,B", callback=lambda context, parameter, value: tuple(value.split(",")) if value else (),
              help="peers: spark, duckdb, flink, pathway, bytewax, differential; installed or built on request, each by itself.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("bench-results"), show_default=True,
              metavar="DIR", help="Numbers, tables and figures go here.")
def main(names: tuple[str, ...], out: Path, **options: object) -> None:
    """Measure Sash against its limits, in turns, in one run; ratios first."""
    if options["peers"] and "peers" not in names:
        names = (*(names or [one.name for one in choose(())]), "peers")
    try:
        run_benchmarks(choose(names), Options(**options), out)  # type: ignore[arg-type]
    except SashError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
