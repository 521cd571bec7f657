"""`sash shell` as somebody types it: the example of its page, pipes, mistakes, and a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sash.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "shell.md"


def sash(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(main, list(words), input=typed)


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    script, printed = re.search(r"```sh\n(.*?)```\n\nprints\n\n```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).groups()  # type: ignore[union-attr]
    script = script.replace("sash shell", f"{sys.executable} -m sash.cli.main shell")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


def test_statements_come_from_a_pipe() -> None:
    result = sash("shell", typed="CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2);\nSELECT SUM(a) AS s FROM t")
    assert result.exit_code == 0, result.output
    assert result.output.endswith("s\n─\n3\n")


def test_a_mistake_ends_it_and_what_comes_after_is_not_done(tmp_path: Path) -> None:
    result = sash("shell", typed="SELECT a FROM nowhere; SHOW TABLES")
    assert result.exit_code == 2
    assert 'unknown stream, table or view "nowhere"' in result.output and "rows" not in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--checkpoint", "p"], "--checkpoint needs --engine spark"),
        (["--connect", "postgresql://127.0.0.1:1/x"], "refused"),
        (["--connect", "postgresql://127.0.0.1:1/x", "--engine", "spark"], "a server has its own job and engine"),
        (["--connect", "nonsense://"], "see that it runs, and that its address is right"),
    ],
)
def test_mistakes_are_told(words: list[str], said: str) -> None:
    result = sash("shell", *words, "-c", "SHOW VIEWS")
    assert result.exit_code == 2 and said in result.output


def test_a_terminal(tmp_path: Path) -> None:
    """A real one: what is typed is answered, a view is followed until Ctrl-C, Ctrl-D leaves."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.environ |= {"TERM": "xterm", "XDG_STATE_HOME": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1"}
        os.execv(sys.executable, [sys.executable, "-m", "sash.cli.main", "shell"])
    shown = ""

    def wait_for(text: str) -> None:
        nonlocal shown
        end = time.monotonic() + 300
        while text not in shown:
            assert time.monotonic() < end, shown
            if select.select([screen], [], [], 0.1)[0]:
                shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(screen, 1 << 16).decode(errors="replace"))
        shown = shown.partition(text)[2]

    wait_for("\\q to leave")
    wait_for("sash>")
    for typed, answer in [
        ("CREATE STREAM t (ts TIMESTAMP, a INT) TIMESTAMP BY ts;\r", "done"),
        ("CREATE MATERIALIZED VIEW v AS SELECT SUM(a) AS s FROM t [RANGE 1 HOUR];\r", "done"),
        ("INSERT INTO t VALUES (TIMESTAMP '2026-01-01 12:00:00', 42), (TIMESTAMP '2026-01-01 12:00:05', 1);\r", "done"),
        ("SELECT s\rFROM v;\r", "43"),
        ("SELECT nope FROM v;\r", 'unknown column "nope"'),
        ("SUBSCRIBE v;\r", "42"),
        ("\x03", "sash>"),
        ("\\dv\r", "s BIGINT"),
    ]:
        os.write(screen, typed.encode())
        wait_for(answer)
    wait_for("sash>")
    os.write(screen, b"\x04")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(screen)
