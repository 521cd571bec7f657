"""The command: `python -m damage.damage --trials 10000`, from the folder of the tests; `--seed K` plays one trial."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from damage.job import played
from damage.trials import Field, Summary

TOLD_EVERY = 250  # trials


def main() -> int:
    words = argparse.ArgumentParser(description="damage files, and see what a restart makes of them")
    words.add_argument("--trials", type=int, default=1000)
    words.add_argument("--first", type=int, default=0, help="the first seed")
    words.add_argument("--seed", type=int, help="play this one only")
    words.add_argument("--letters", type=int, default=300, help="of what went wrong")
    given = words.parse_args()
    field, began = Field(), time.monotonic()
    try:
        if given.seed is not None:
            with played(field.base):
                print(*field.trial(given.seed), sep="\n")
            return 0
        summary = field.play(range(given.first, given.first + given.trials), _tell)
    finally:
        field.close()
    for kind in sorted(set(summary.exact) | set(summary.refused)):
        print(f"{kind:60} exact {summary.exact[kind]:5}   refused {summary.refused[kind]:5}")
    for reason, count in summary.reasons.most_common():
        print(f"{count:6} {reason}")
    for seed, wrong in list(summary.wrong.items())[:20]:
        print(f"seed {seed}: {wrong[:given.letters]}")
    print(Counter(": ".join(text.split(": ")[:2]) for text in summary.wrong.values()))
    print(
        f"{summary.total} damaged files in {time.monotonic() - began:.0f} s: {summary.exact.total()} gone on with exactly,"
        f" {summary.refused.total()} refused with a clear error, {len(summary.wrong)} neither"
    )
    return bool(summary.wrong)


def _tell(summary: Summary) -> None:
    """Now and then, how far it is; all that is wrong is told again at the end."""
    if summary.total % TOLD_EVERY == 0:
        wrong = ", ".join(map(str, summary.wrong)) or "none"
        print(f"{time.strftime('%H:%M:%S')}  {summary.total} damaged files; seeds that went wrong: {wrong}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
