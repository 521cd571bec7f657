"""The server: listens, lets in as many clients as it may, and gives each a thread of its own."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator

from sash.errors import SashError
from sash.serve.access import Access
from sash.serve.limits import Limits
from sash.serve.postgres.backend import Backend, Client
from sash.serve.postgres.channel import Channel, Vanished
from sash.serve.postgres.failures import WireError, fatal
from sash.serve.postgres.session import Session, in_protocol
from sash.serve.postgres.settings import Settings
from sash.serve.postgres.startup import Cancel, Start, authenticate, begin
from sash.serve.served import Served

WAITING = 128  # connections that the system holds until they are looked at
SPARE = 16  # connections above the limit that are there to be refused, or to cancel, at a time


class PostgresServer:
    """Serves from when it is made until `close`."""

    def __init__(self, served: Served, port: int, access: Access, limits: Limits) -> None:
        self._backend = Backend(served, access, limits)
        self._listener = _listener(access.host, port)
        self._sessions: dict[tuple[int, int], Session] = {}
        self._channels: set[Channel] = set()
        self._lock = threading.Lock()
        self._numbers = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._accept, name="sash-postgres", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def connections(self) -> int:
        """How many clients are in."""
        return len(self._sessions)

    @property
    def answer_bytes(self) -> int:
        """Of all answers that are being sent."""
        return self._backend.answer_bytes.held

    def close(self) -> None:
        """Nobody is let in any more, and whoever is in is told that it is over."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            channels = list(self._channels)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for channel in channels:
            channel.interrupt()
        self._backend.close()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                if self._is_closed:
                    return
                continue
            self._take(sock)

    def _take(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            channel = Channel(sock, self._backend.limits.send_seconds)
        except OSError:
            sock.close()
            return
        with self._lock:
            is_full = self._is_closed or len(self._channels) >= self._backend.limits.connections + SPARE
            if not is_full:
                self._channels.add(channel)
        if is_full:
            channel.close()
            return
        try:
            threading.Thread(target=self._serve, args=(channel,), name="sash-client", daemon=True).start()
        except RuntimeError:  # no more threads to be had
            self._leave(channel)

    def _serve(self, channel: Channel) -> None:
        try:
            channel.deadline(self._backend.limits.login_seconds)
            found = begin(channel, self._backend.access)
            if isinstance(found, Cancel):
                self._cancel(found)
            else:
                self._session(channel, found)
        except Vanished:
            return
        except Exception as error:
            with contextlib.suppress(Vanished):
                channel.put_error(_final(error))
                channel.flush()
        finally:
            self._leave(channel)

    def _session(self, channel: Channel, start: Start) -> None:
        authenticate(channel, self._backend.access, start.user)
        settings = Settings({**start.settings, "session_authorization": start.user})
        with self._place() as (number, key):
            client = Client(start.user, number, settings)
            session = self._sessions[number, key] = Session(channel, self._backend, client)
            for name, value in settings.reported().items():
                channel.put(b"S", name.encode() + b"\0" + value.encode() + b"\0")
            channel.put(b"K", number.to_bytes(4, "big") + key.to_bytes(4, "big"))
            channel.deadline(None)
            session.serve()

    @contextlib.contextmanager
    def _place(self) -> Iterator[tuple[int, int]]:
        """A number and a key for one client, if there is room for it."""
        with self._lock:
            most = self._backend.limits.connections
            if len(self._sessions) >= most:
                raise fatal("53300", f"there are {most} connections already, which is the most", "try again later")
            self._numbers += 1
            place = self._numbers & 0x7FFFFFFF, secrets.randbits(31)
            self._sessions[place] = None  # type: ignore[assignment]
        try:
            yield place
        finally:
            with self._lock:
                self._sessions.pop(place, None)

    def _cancel(self, asked: Cancel) -> None:
        session = self._sessions.get((asked.number, asked.key))
        if session is not None:
            session.cancel()

    def _leave(self, channel: Channel) -> None:
        channel.close()
        with self._lock:
            self._channels.discard(channel)


def _final(error: Exception) -> WireError:
    found = in_protocol(error)
    return WireError(found.code, found.message, found.hint, is_fatal=True)


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(WAITING)
    except (OSError, OverflowError) as error:
        listener.close()
        raise SashError(f"cannot listen on {host}:{port}: {error}", "choose another port") from None
    return listener
