"""Texts for the screen. They may hold what stands in somebody's files, which is shown and never obeyed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import click

from sash.errors import harmless


def printable(text: str) -> str:
    """A text whose lines hold nothing that a terminal acts on: ESC is shown as \\x1b."""
    return "\n".join(map(harmless, text.split("\n")))


def tell(text: str) -> None:
    """A line of ours among what is written for people."""
    click.echo(f"sash: {printable(text)}", err=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings as the sentences that they are, without the lines of Python that they come from."""
    usual = warnings.showwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        if category.__module__.startswith("sash."):
            tell(f"warning: {message}")
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual
