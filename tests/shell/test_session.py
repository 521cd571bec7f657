"""Statements and commands in a shell, on a database in this process and at a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import sash
from sash.errors import SashError
from sash.shell.completion import Names
from sash.shell.connections import OwnDatabase
from sash.shell.prompt import history_file, interact
from sash.shell.remote import Server
from sash.shell.session import Quit, Session

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE TABLE names (k STRING, label STRING);
CREATE MATERIALIZED VIEW totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 1 HOUR] GROUP BY k;
CREATE MATERIALIZED VIEW `Odd "name"` AS SELECT k AS `the key` FROM s [RANGE 1 HOUR] WHERE v IS NULL;
"""
ROWS = [("2024-01-01 00:00:00", "a", 1), ("2024-01-01 00:00:01", "a", 4), ("2024-01-01 00:00:02", "\x1b[31m", None)]


class Screen:
    """What a shell says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        self.lines += text.split("\n")

    def __contains__(self, text: str) -> bool:
        return any(text in line for line in self.lines)


@pytest.fixture
def db() -> Iterator[sash.Database]:
    with sash.connect() as db:
        db.execute(JOB)
        db.push("s", ROWS)
        yield db


@pytest.fixture(params=["own", "server"])
def session(request: pytest.FixtureRequest, db: sash.Database) -> Iterator[Session]:
    if request.param == "own":
        yield Session(OwnDatabase(db, "own"), Screen())
        return
    with db.serve(port=0, grants=("change", "define")) as door:
        server = Server(f"postgresql://me@127.0.0.1:{door.port}/sash")
        yield Session(server, Screen())
        server.close()


def said(session: Session, text: str) -> Screen:
    screen = session.say = Screen()
    session.take(text)
    return screen


def test_answers_and_definitions(session: Session) -> None:
    screen = said(session, "SELECT k, n, total FROM totals WHERE n > 1; CREATE MATERIALIZED VIEW more AS SELECT v FROM s [RANGE 1 HOUR]; SHOW VIEWS")
    assert "a  2      5" in screen and "done" in screen and "more" in screen


def test_a_plan_is_shown_as_it_is_drawn(session: Session) -> None:
    """Its lines begin with blanks, and some are empty."""
    lines = said(session, "EXPLAIN SELECT n FROM totals WHERE k = 'a'").lines
    assert any(line.startswith("   └─ ") for line in lines) and not any(line.startswith("'") for line in lines) and "" in lines
    assert lines[-1] == "the row of totals by its key (k)"


def test_what_there_is(session: Session) -> None:
    screen = said(session, "\\d")
    assert "stream" in screen and "names" in screen and "k STRING, n BIGINT, total BIGINT" in screen
    assert "BIGINT" in said(session, "\\d totals")
    assert "totals" in said(session, "\\dv") and "names" in said(session, "\\dt") and "TIMESTAMP" in said(session, "\\ds")
    assert "totals" in said(session, "\\dq")


def test_nothing_that_a_terminal_obeys_is_said(session: Session) -> None:
    screen = said(session, "SELECT k FROM totals")
    assert "\\x1b[31m" in screen and not any("\x1b" in line for line in screen.lines)


def test_mistakes_are_told_and_nothing_after_them_is_done(session: Session) -> None:
    for text in ("SELECT nope FROM totals; DROP VIEW totals", "\\nope", "\\i /no/such/file", "\\rows many", "\\watch", "SUBSCRIBE nope"):
        with pytest.raises(SashError):
            said(session, text)
    assert "totals" in said(session, "\\dv")


def test_settings(session: Session) -> None:
    assert " ms" in said(session, "\\timing\nSELECT k FROM totals")
    assert "… 1 more rows" in said(session, "\\rows 1\nSELECT k FROM totals")
    assert "…" not in said(session, "\\rows all\nSELECT k FROM totals")
    help_text = said(session, "\\?")
    assert "\\watch [seconds]" in help_text
    with pytest.raises(Quit):
        said(session, "\\q")


def test_a_file_of_statements(session: Session, tmp_path: Path) -> None:
    (tmp_path / "more.sql").write_text("SELECT n FROM totals WHERE k = 'a'; -- and\n\\rows 5\nSELECT total FROM totals WHERE k = 'a'")
    screen = said(session, f"\\i {tmp_path}/more.sql")
    assert "2" in screen.lines and "5 rows at most" in screen and "    5" in screen.lines


@pytest.mark.parametrize("view", ["totals", "`totals`"])
def test_a_view_is_followed_from_its_answer_on(db: sash.Database, session: Session, view: str) -> None:
    db.end()
    screen = session.say = Screen()
    following = threading.Thread(target=session.take, args=(f"SUBSCRIBE {view};",), daemon=True)
    following.start()
    until(lambda: "+  2024-01-01 00:00:02  a  2  5" in screen)
    db.push("s", [("2024-01-01 00:00:05", "b", 7)])
    db.advance("2024-01-01 00:00:09")
    until(lambda: "+  2024-01-01 00:00:05  b  1  7" in screen)
    db.execute("DROP VIEW totals")
    following.join(120)
    assert not following.is_alive()


def test_a_view_with_an_odd_name_is_followed(db: sash.Database, session: Session) -> None:
    db.end()
    screen = session.say = Screen()
    following = threading.Thread(target=session.take, args=('SUBSCRIBE "Odd ""name"""',), daemon=True)
    following.start()
    until(lambda: "\\x1b[31m" in screen)
    db.execute('DROP VIEW `Odd "name"`')
    following.join(120)
    assert not following.is_alive()


def until(is_so: object, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_there_is_no_server() -> None:
    with pytest.raises(SashError, match="refused") as caught:
        Server("postgresql://127.0.0.1:1/sash")
    assert caught.value.hint


def completed(session: Session, text: str) -> set[str]:
    return {one.text for one in Names(session.connection).get_completions(Document(text), CompleteEvent())}


def test_names_are_completed(session: Session) -> None:
    assert completed(session, "SELECT * FROM to") >= {"totals"}
    assert completed(session, "SELECT tot FROM totals WHERE tot") >= {"totals", "total"}
    assert completed(session, "sel") >= {"SELECT"} and completed(session, "SELECT coal") == {"COALESCE"}
    assert completed(session, "\\d") >= {"\\d", "\\dv"} and completed(session, "SELECT ") == set()


def test_a_prompt(session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Enter in the middle of a statement begins another line; a mistake ends nothing; lines are remembered."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    screen = session.say = Screen()
    mistakes: list[str] = []
    with create_pipe_input() as keys:
        keys.send_text("SELECT nope FROM totals;\rSELECT total FROM totals\rWHERE k = 'a';\r\\rows 7\r\\q\r")
        interact(session, mistakes.append, keys, DummyOutput())
    assert len(mistakes) == 1 and "nope" in mistakes[0]
    assert "5" in screen and "7 rows at most" in screen
    assert "WHERE k = 'a';" in history_file().read_text()
    assert history_file().stat().st_mode & 0o777 == 0o600


def test_a_prompt_without_a_home(session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    screen = session.say = Screen()
    with create_pipe_input() as keys:
        keys.send_text("SELECT total FROM totals WHERE k = 'a';\r\x04")
        interact(session, print, keys, DummyOutput())
    assert "5" in screen
