"""Arrow Flight: lists, schemas, rows, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow.flight as flight
import pytest

import sash
from sash.serve.door import Door
from sash.serve.limits import Limits


def client(door: Door) -> flight.FlightClient:
    return flight.connect(f"grpc://127.0.0.1:{door.flight_port}")


def test_views_are_listed_and_read(door: Door) -> None:
    with client(door) as reader:
        (info,) = reader.list_flights()
        assert info.descriptor.path == [b"totals"] and info.schema.names == ["k", "total"]
        assert reader.do_get(info.endpoints[0].ticket).read_all().to_pylist() == [{"k": "a", "total": 1}, {"k": "b", "total": 2}]
        assert reader.get_schema(flight.FlightDescriptor.for_path("totals")).schema.names == ["k", "total"]


def test_a_query(door: Door) -> None:
    with client(door) as reader:
        query = b"SELECT k, total * 2 AS twice FROM totals WHERE total > 1"
        assert reader.get_flight_info(flight.FlightDescriptor.for_command(query)).schema.names == ["k", "twice"]
        assert reader.do_get(flight.Ticket(query)).read_pandas().values.tolist() == [["b", 4]]


@pytest.mark.parametrize("ticket", [
    b"", b"nowhere", b"\xff", b"SELECT prize FROM totals", b"DROP VIEW totals", b"DELETE FROM t", b"../etc/passwd",
    b"SELECT k FROM totals; DROP VIEW totals", b"CREATE VIEW x AS SELECT k FROM totals",
])  # fmt: skip
def test_what_is_no_query_is_refused(db: sash.Database, door: Door, ticket: bytes) -> None:
    before = db.catalog.names()
    with client(door) as reader, pytest.raises(flight.FlightError):
        reader.do_get(flight.Ticket(ticket)).read_all()
    assert db.catalog.names() == before


def test_nothing_is_put_and_no_action_is_known(door: Door) -> None:
    with client(door) as reader:
        with pytest.raises(Exception, match=r"(?i)not.?implemented"):
            list(reader.do_action(flight.Action("x", b"")))
        writer, _ = reader.do_put(flight.FlightDescriptor.for_path("totals"), reader.get_schema(flight.FlightDescriptor.for_path("totals")).schema)
        with pytest.raises(Exception, match=r"(?i)not.?implemented"):
            writer.close()


def test_an_answer_that_is_too_large(db: sash.Database) -> None:
    with db.serve(0, flight_port=0, limits=Limits(answer_bytes=8)) as door, client(door) as reader:
        for _ in range(2):
            with pytest.raises(flight.FlightError, match="left for answers"):
                reader.do_get(flight.Ticket(b"totals")).read_all()


def test_passwords(db: sash.Database, tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("ann:open\n")
    path.chmod(0o600)
    with db.serve(0, flight_port=0, password_file=path) as door, client(door) as reader:
        with pytest.raises(flight.FlightUnauthenticatedError):
            reader.do_get(flight.Ticket(b"totals")).read_all()
        for user, password in ((b"ann", b"wrong"), (b"eve", b"open")):
            with pytest.raises(flight.FlightUnauthenticatedError):
                reader.authenticate_basic_token(user, password)
        token = reader.authenticate_basic_token(b"ann", b"open")
        options = flight.FlightCallOptions(headers=[token])
        assert reader.do_get(flight.Ticket(b"totals"), options).read_all().num_rows == 2
