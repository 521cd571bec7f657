"""Checkpoints and outputs in an object store: one driver at a time, no half a file, and the answers of a disk."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import counting
import pytest
from pyarrow import fs
from without_spark import connected

from s3_server import BUCKET, KEYS, REGION, S3Server, s3_server
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.folders import locations, object_stores
from sash.folders.folder import Folder
from sash.folders.locations import Location, locate, split_options
from sash.folders.object_stores import _credentials_file, object_store
from sash.runtime.packets import Cargo
from sash.spark.checkpoint import make_checkpoint
from sash.spark.epochs import Replaced, claim_epoch, newest_epoch
from sash.spark.outputs import output_name
from sash.spark.sealed import SealedFolder

SQL = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 20 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM s [RANGE 7 SECONDS];
"""
RACES = 30


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        with s3_server() as made:
            yield made


@pytest.fixture
def folder(server: S3Server, request: pytest.FixtureRequest) -> Folder:
    return Folder.of(server.uri(request.node.name.replace("[", "-").replace("]", "")))


def at_once(*works: Callable[[], object]) -> list[object]:
    """What each of them says that begin together; an error says its own name."""
    gate, said = threading.Barrier(len(works)), dict[int, object]()

    def run(place: int, work: Callable[[], object]) -> None:
        gate.wait()
        try:
            said[place] = work()
        except SashError as error:
            said[place] = type(error)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [said[place] for place in sorted(said)]


def test_files_are_put_read_listed_and_deleted(folder: Folder) -> None:
    inner = folder.child("inner")
    assert inner.names() == [] and inner.read("a") is None
    inner.put("a", [b"one", memoryview(b"two")])
    inner.put("a", [b"three"])
    assert inner.names() == ["a"] and bytes(inner.read("a")) == b"three" and inner.size("a") == 5  # type: ignore[arg-type]
    inner.delete("a")
    assert not inner.has("a")
    assert "?" not in inner.place and not inner.is_local


def test_a_file_of_many_parts_is_whole(folder: Folder) -> None:
    large = os.urandom(1 << 20) * 12  # more than is sent in one request
    folder.put("large", [large])
    assert bytes(folder.read("large")) == large  # type: ignore[arg-type]


def test_one_of_two_creates_a_file(folder: Folder, server: S3Server) -> None:
    for number in range(RACES):
        said = at_once(*(partial(folder.create, f"{number}", [who]) for who in (b"first", b"second")))
        assert sorted(map(bool, said)) == [False, True]
        assert bytes(folder.read(f"{number}")) == (b"first" if said[0] else b"second")  # type: ignore[arg-type]
    asked = [request for request in server.requests if folder.place.rsplit("/", 1)[1] in request[1] and request[0] == "PUT"]
    assert asked and {condition for _, _, condition in asked} == {"*"}


def test_a_file_created_in_an_object_store_is_sealed_once(folder: Folder) -> None:
    control = SealedFolder.of(folder.place + folder.options).child("control")
    assert control.create("1", [b"advance"]) and not control.create("1", [b"end"])
    assert bytes(control.demand("1")) == b"advance"


def test_two_drivers_race_for_an_epoch_in_an_object_store(folder: Folder) -> None:
    place = SealedFolder.of(folder.place + folder.options)
    job = counting.job(counting.stream("events.csv"))
    made = at_once(*[lambda: make_checkpoint(place, job)] * 2)
    assert SashError in made
    checkpoint = next(one for one in made if one is not SashError).folder  # type: ignore[attr-defined]
    for number in range(RACES):
        said = at_once(*[partial(claim_epoch, checkpoint, newest_epoch(checkpoint))] * 2)
        assert sorted(map(str, said)) == sorted([str(number + 1), str(Replaced)])


class LostAnswer:
    """A client that hears nothing of its first request, which the store may have got or not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_got: bool) -> None:
        import obstore

        put, self.asked = obstore.put, 0

        def lost(*args: object, **options: object) -> object:
            self.asked += 1
            answer = put(*args, **options) if is_got or self.asked > 1 else None  # type: ignore[arg-type]
            if self.asked == 1:
                raise obstore.exceptions.GenericError("the connection was closed")
            return answer

        monkeypatch.setattr(obstore, "put", lost)
        monkeypatch.setattr(object_stores, "PAUSES", (0.0,))


@pytest.mark.parametrize("is_got", [True, False])
def test_a_file_that_was_created_and_not_seen_to_be_is_ones_own(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, is_got: bool
) -> None:
    lost = LostAnswer(monkeypatch, is_got=is_got)
    assert folder.create("mine", [b"mine"]) and lost.asked == 2
    assert not folder.create("mine", [b"mine"])
    assert not folder.create("mine", [b"theirs"])


def test_an_upload_that_fails_half_way_is_not_seen(folder: Folder) -> None:
    """Neither a new file nor another version of one that is there."""
    folder.put("old", [b"as it was"])

    def broken() -> Iterator[bytes]:
        yield b"half of "
        raise OSError("the disk with the rest is gone")

    for name in ("old", "new"):
        with pytest.raises(SashError, match="the disk with the rest is gone"):
            folder.put(name, broken())
        with pytest.raises(SashError, match="the disk with the rest is gone"):
            folder.create(name, broken())
    assert folder.names() == ["old"] and bytes(folder.read("old")) == b"as it was"  # type: ignore[arg-type]


def test_a_connection_that_breaks_in_the_middle_of_an_upload_leaves_nothing(server: S3Server, folder: Folder) -> None:
    """Through a door that lets the first bytes of an upload pass, and then closes."""
    folder.put("old", [b"as it was"])
    with _closing_door(server.address, 1 << 16) as door:
        through = replace(folder, options=folder.options.replace(str(server.address.split(":")[1]), door))
        store, path = object_store(locate(through.place + through.options), "old")
        store._client = store._once  # type: ignore[attr-defined]  # no need to wait for ten tries
        for data in (os.urandom(1 << 20), os.urandom(1 << 24)):  # in one request, and in several
            with pytest.raises(OSError):
                store.put(path, data)
    assert folder.names() == ["old"] and bytes(folder.read("old")) == b"as it was"  # type: ignore[arg-type]


class _closing_door:
    """Passes so many bytes on to an address, for each connection; its own port."""

    def __init__(self, address: str, most: int) -> None:
        host, port = address.split(":")
        self._address, self._most = (host, int(port)), most
        self._door = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> str:
        threading.Thread(target=self._serve, daemon=True).start()
        return str(self._door.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def _serve(self) -> None:
        while True:
            try:
                visitor, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(visitor,), daemon=True).start()

    def _pass_on(self, visitor: socket.socket) -> None:
        with visitor, socket.create_connection(self._address) as inside:
            threading.Thread(target=_answer, args=(inside, visitor), daemon=True).start()
            left = self._most
            while left > 0 and (data := visitor.recv(min(left, 1 << 14))):
                inside.sendall(data)
                left -= len(data)
            for side in (inside, visitor):
                side.shutdown(socket.SHUT_RDWR)


def _answer(inside: socket.socket, visitor: socket.socket) -> None:
    with suppress(OSError):
        while data := inside.recv(1 << 14):
            visitor.sendall(data)


def test_the_clients_agree(server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What pyarrow's client is told by the URI, by the environment or by the file of credentials, the other one knows too."""
    bare = f"s3://{BUCKET}/agreed"
    ways = {
        "by the URI": (f"s3://tester:secret@{BUCKET}/agreed{server.options}", {}),
        "by the environment": (f"{bare}-1", {"AWS_ENDPOINT_URL": f"http://{server.address}", "AWS_DEFAULT_REGION": REGION}),
        "by that of S3": (f"{bare}-2?region={REGION}", {"AWS_ENDPOINT_URL_S3": f"http://{server.address}"}),
        "as Spark says it": (f"s3a://{BUCKET}/agreed-3{server.options}", {}),
    }  # fmt: skip
    for uri, environment in ways.values():
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            locations._remote.cache_clear()
            folder = Folder.of(uri)
            assert folder.create("one", [b"1"]) and not folder.create("one", [b"2"])
            assert bytes(folder.read("one")) == b"1"  # type: ignore[arg-type]
    locations._remote.cache_clear()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = mine\naws_secret_access_key = hidden\n")
    assert _credentials_file() == {"access_key_id": "mine", "secret_access_key": "hidden"}


def test_a_uri_has_options_and_a_glob_has_question_marks() -> None:
    assert split_options("bucket/a/b?region=x&scheme=http") == ("bucket/a/b", "?region=x&scheme=http")
    for glob in ("bucket/year=202?/*.csv", "bucket/part-?.csv", "bucket/a"):
        assert split_options(glob) == (glob, "")
    assert split_options("bucket/part-?.csv?region=x") == ("bucket/part-?.csv", "?region=x")


@pytest.mark.parametrize(
    ("uri", "store", "path"),
    [
        ("gs://anonymous@bucket/a/b?scheme=http&endpoint_override=127.0.0.1:9", "GCSStore", "a/b/name"),
        ("az://container/a", "AzureStore", "a/name"),
        ("abfs://container@account.dfs.core.windows.net/a", "AzureStore", "a/name"),
        ("abfs://account:a2V5@127.0.0.1:9/container/a?enable_tls=false", "AzureStore", "a/name"),
    ],
)
def test_other_stores_are_found(uri: str, store: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    location = locate(uri)
    found, inner = object_store(location, "name")
    assert type(found._client).__name__ == store and inner == path  # type: ignore[attr-defined]
    assert location.outside(location.path) == uri


def test_a_place_that_cannot_tell_two_drivers_apart_is_refused() -> None:
    location = Location(fs.SubTreeFileSystem("/tmp", fs.LocalFileSystem()), "x/y", "", "hdfs://name")
    with pytest.raises(SashError, match=r"does not tell two runs apart that begin at once; keep checkpoints and outputs on a disk"):
        object_store(location, "name")


def write_rows(folder: Path, first: int, last: int) -> None:
    (folder / "s").mkdir(exist_ok=True)
    lines = (f"{second},{'abcd'[second % 4]},{second % 3}\n" for second in range(first, last))
    (folder / f"s/rows-{first}.csv").write_text("".join(lines))


def results(db: SparkDatabase) -> dict[str, list[str]]:
    """Changes by the manifest, and answers."""
    host, found = db._running(), {}
    for view in ("counts", "total"):
        tables = host.ledger.read_all(output_name(view, Cargo.CHANGES))
        found[view] = sorted(str(row) for table in tables for row in table.to_pylist())
        found[f"answer of {view}"] = sorted(map(str, host.final(view).to_pylist()))
    return found


def test_a_job_in_an_object_store_gives_what_it_gives_on_a_disk(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint and its outputs, with another driver that goes on in the middle, and a first one that finds it out."""

    def run(*places: str) -> dict[str, list[str]]:
        def made() -> SparkDatabase:
            db = connected(monkeypatch, tmp_path, SQL, shards=1, batch_rows=13)
            db._options |= dict(zip(("checkpoint", "output"), places, strict=True))
            return db

        first = made()
        first.start()
        first.drain()
        second = made()
        second.start()
        with pytest.raises(Replaced, match="has taken over the checkpoint"):
            first._running().advance(1) or first.drain()  # type: ignore[func-returns-value]
        first.close()
        write_rows(tmp_path, 40, 80)
        second.drain()
        second.close()
        third = made()
        third.run()
        found = results(third)
        third.close()
        return found

    write_rows(tmp_path, 1, 40)
    far = run(server.uri("job/point"), server.uri("job/out"))
    (tmp_path / "s/rows-40.csv").unlink()
    monkeypatch.setattr("sash.folders.folder.Folder.local_path", None)  # the lock on a disk would not let the second one in
    near = run(str(tmp_path / "point"), str(tmp_path / "out"))
    assert far == near and len(near["counts"]) > 50
