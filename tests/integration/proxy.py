"""A broker as seen through a bad network: answers get lost after the broker has acted on them."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType
from typing import Self

__all__ = ["Api", "Proxy"]

_LISTEN = "127.0.0.1"
_POLL_S = 0.2


class Api(IntEnum):
    """Kinds of requests of Kafka's protocol."""

    PRODUCE = 0
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26


class Proxy:
    """Forwards to one broker, which must give itself out as ``127.0.0.1:PORT``.

    Whatever address the broker tells in an answer is replaced by the proxy's own, so that clients
    that start here stay here. As a context manager it is closed.

    Attributes:
        address: ``host:port`` for clients.
        lost: answers lost so far, by kind.
    """

    def __init__(self, broker: str) -> None:
        host, port = broker.rsplit(":", 1)
        self._broker = (host, int(port))
        self._listener = socket.create_server((_LISTEN, 0))
        self._listener.settimeout(_POLL_S)
        own_port = self._listener.getsockname()[1]
        self.address = f"{_LISTEN}:{own_port}"
        self._told = _address_bytes(self._broker[1])
        self._instead = _address_bytes(own_port)
        self._lock = threading.Lock()
        self._to_lose: dict[Api, int] = {}
        self.lost: dict[Api, int] = dict.fromkeys(Api, 0)
        self._closed = threading.Event()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def lose_answers(self, api: Api, number: int) -> None:
        """Cut the connection instead of delivering the next so many answers of this kind.

        The broker has acted on the request by then.
        """
        with self._lock:
            self._to_lose[api] = number

    def close(self) -> None:
        """End it and all its connections."""
        self._closed.set()
        self._accepting.join()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            try:
                broker = socket.create_connection(self._broker, timeout=5)
            except OSError:
                client.close()  # the broker is down, and so it looks
                continue
            link = _Link(client, broker, {}, threading.Lock())
            self._pump(lambda link=link: self._requests(link), link)  # type: ignore[misc]
            self._pump(lambda link=link: self._answers(link), link)  # type: ignore[misc]

    def _pump(self, work: Callable[[], None], link: "_Link") -> None:
        def run() -> None:
            try:
                work()
            except OSError:
                pass  # the other direction has cut the connection
            finally:
                link.cut()

        threading.Thread(target=run, daemon=True).start()

    def _requests(self, link: "_Link") -> None:
        while (frame := _read_frame(link.client, self._closed)) is not None:
            api, _, correlation = struct.unpack_from(">hhi", frame)
            with link.lock:
                link.waiting[correlation] = api
            link.broker.sendall(struct.pack(">i", len(frame)) + frame)

    def _answers(self, link: "_Link") -> None:
        while (frame := _read_frame(link.broker, self._closed)) is not None:
            (correlation,) = struct.unpack_from(">i", frame)
            with link.lock:
                api = link.waiting.pop(correlation, None)
            if self._loses(api):
                return
            frame = frame.replace(self._told, self._instead)
            link.client.sendall(struct.pack(">i", len(frame)) + frame)

    def _loses(self, number: int | None) -> bool:
        with self._lock:
            for api, left in self._to_lose.items():
                if number == api and left > 0:
                    self._to_lose[api] = left - 1
                    self.lost[api] += 1
                    return True
        return False


@dataclass
class _Link:
    """A client's connection and ours to the broker; requests that wait for their answers."""

    client: socket.socket
    broker: socket.socket
    waiting: dict[int, int]
    lock: threading.Lock

    def cut(self) -> None:
        for end in (self.client, self.broker):
            with suppress(OSError):  # it may be cut already
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _address_bytes(port: int) -> bytes:
    """Host and port as answers hold them: the host's last bytes, then the port."""
    return _LISTEN.encode() + struct.pack(">i", port)


def _read_frame(source: socket.socket, closed: threading.Event) -> bytes | None:
    """The next message without its length; None at the end of the stream or of the proxy."""
    source.settimeout(_POLL_S)
    head = _read(source, 4, closed)
    return None if head is None else _read(source, struct.unpack(">i", head)[0], closed)


def _read(source: socket.socket, size: int, closed: threading.Event) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        if closed.is_set():
            return None
        try:
            part = source.recv(min(size - len(data), 1 << 20))
        except TimeoutError:
            continue
        if not part:
            return None
        data += part
    return bytes(data)
