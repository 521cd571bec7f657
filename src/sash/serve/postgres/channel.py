"""The messages of a connection: read whole, with a bound on their length, and written in larger pieces.

    message:   tag (one byte)   length (of what follows and of itself)   body
"""

from __future__ import annotations

import io
import select
import socket
import ssl
import struct
from typing import TYPE_CHECKING

from sash.serve.postgres.failures import WireError, bad_protocol

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST = 16 << 20  # bytes of a message that is read
FIRST_LONGEST = 10_000  # bytes of the first message, which comes from anybody
ENOUGH = 1 << 16  # bytes that are sent without waiting for more

_HEAD = struct.Struct("!ci")
_INT = struct.Struct("!i")


class Vanished(Exception):
    """The client is gone, or reads nothing."""


class Channel:
    """One connection. Whoever writes to a client that does not read waits `patience` seconds, then the connection is over."""

    def __init__(self, sock: socket.socket, patience: float) -> None:
        self._sock = sock
        self._read_from(sock)
        self._patience = patience
        self._waiting = bytearray()
        self._wait_at_most(patience)

    def secure(self, context: ssl.SSLContext) -> None:
        """From now on over TLS. What was sent before the handshake is not to be trusted, so there may not be any.

        That is asked before the client is told to begin: what it sends after that is its handshake.
        """
        if self._has_more():
            raise bad_protocol("there is text before the encryption begins")
        self.put_byte(b"S")
        try:
            self._sock = context.wrap_socket(self._sock, server_side=True)
        except (OSError, ValueError) as error:
            raise Vanished from error
        self._read_from(self._sock)

    def _read_from(self, sock: socket.socket) -> None:
        self._incoming, self._taken = Incoming(sock), 0
        self._reader = io.BufferedReader(self._incoming, ENOUGH)

    @property
    def is_secure(self) -> bool:
        return isinstance(self._sock, ssl.SSLSocket)

    def deadline(self, seconds: float | None) -> None:
        """For how long a read may wait."""
        self._sock.settimeout(seconds)
        if seconds is None:
            self._wait_at_most(self._patience)

    def read_first(self) -> bytes:
        """The body of the message that has no tag."""
        (length,) = _INT.unpack(self._exactly(4))
        if not 8 <= length <= FIRST_LONGEST:
            raise bad_protocol("this is not a message of PostgreSQL's protocol")
        return self._exactly(length - 4)

    def read(self, longest: int = LONGEST) -> tuple[bytes, bytes]:
        """Tag and body of the next message; if it is not all here, what waits to be sent goes first."""
        if self._waiting and not self._has_message():
            self.flush()
        tag, length = _HEAD.unpack(self._exactly(5))
        if not 4 <= length <= longest:
            raise bad_protocol(f"a message of {length} bytes is not read; {longest} are the most")
        return tag, self._exactly(length - 4)

    def put(self, tag: bytes, body: bytes = b"") -> None:
        self._waiting += _HEAD.pack(tag, len(body) + 4)
        self._waiting += body
        if len(self._waiting) > ENOUGH:
            self.flush()

    def put_messages(self, messages: bytes | memoryview) -> None:
        """Whole messages."""
        if len(messages) > ENOUGH:
            self.flush()
            self._send(messages)
            return
        self._waiting += messages
        if len(self._waiting) > ENOUGH:
            self.flush()

    def put_byte(self, byte: bytes) -> None:
        """The answer to a request for encryption, which is no message."""
        self._waiting += byte
        self.flush()

    def put_error(self, error: WireError) -> None:
        body = b"".join(key + text.replace("\0", "�").encode(errors="replace") + b"\0" for key, text in error.fields())
        self.put(b"E", body + b"\0")

    def flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._send(waiting)

    def is_gone(self) -> bool:
        """Whether the client has hung up, or has asked to: while it is served, it has nothing else to say."""
        if not self._has_unread():
            return False
        try:
            seen = self._reader.peek(1)
        except (OSError, ValueError):
            return True
        return not seen or seen[:1] == b"X"

    def close(self) -> None:
        for end in (self._reader.close, self._sock.close):
            try:
                end()
            except (OSError, ValueError):
                continue

    def interrupt(self) -> None:
        """Wake up a thread that reads or writes here: the connection is over."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _has_more(self) -> bool:
        """Whether something is here that nobody has read, in the reader or in the socket."""
        patience = self._sock.gettimeout()
        self._sock.settimeout(0)
        try:
            return bool(self._reader.peek(1))
        except OSError as error:
            raise Vanished from error
        finally:
            self._sock.settimeout(patience)

    def _has_message(self) -> bool:
        """Whether the whole next message has come: then a read does not wait."""
        here = self._incoming.count - self._taken
        if here < _HEAD.size:
            return False
        _, length = _HEAD.unpack(self._reader.peek(_HEAD.size)[: _HEAD.size])
        return bool(here > length)

    def _has_unread(self) -> bool:
        if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
            return True
        poll = select.poll()
        poll.register(self._sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _exactly(self, count: int) -> bytes:
        try:
            data = self._reader.read(count)
        except (OSError, ValueError) as error:
            raise Vanished from error
        if data is None or len(data) < count:
            raise Vanished
        self._taken += count
        return bytes(data)

    def _send(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._sock.sendall(data)
        except (OSError, ValueError) as error:
            raise Vanished from error

    def _wait_at_most(self, seconds: float) -> None:
        whole = int(seconds)
        bound = struct.pack("ll", whole, int((seconds - whole) * 1e6))
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, bound)


class Incoming(io.RawIOBase):
    """What comes by a socket, counted."""

    def __init__(self, sock: socket.socket) -> None:
        self._raw, self.count = sock.makefile("rb", buffering=0), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        count = self._raw.readinto(buffer)
        self.count += count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
