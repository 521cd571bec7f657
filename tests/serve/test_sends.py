"""Answers to messages that came together leave together: each send gives up the interpreter, and wakes the client up."""

from __future__ import annotations

import psycopg
import pytest

import sash
from sash.serve.postgres.channel import Channel


def test_a_question_with_values_is_answered_by_one_send(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    send = Channel._send

    def counted(channel: Channel, data: bytes) -> None:
        sent.append(len(data))
        send(channel, data)

    with sash.connect() as db:
        db.execute("CREATE TABLE t (k BIGINT); INSERT INTO t VALUES (1), (2)")
        door = db.serve(0)
        with psycopg.connect(f"postgresql://me@127.0.0.1:{door.port}/sash", autocommit=True) as client:
            asked = "SELECT k FROM t WHERE k = %s"
            assert client.execute(asked, (1,)).fetchall() == [(1,)]
            monkeypatch.setattr(Channel, "_send", counted)
            assert client.execute(asked, (2,)).fetchall() == [(2,)]
            assert len(sent) == 1
        door.close()
