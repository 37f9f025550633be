"""What a test service needs from whoever runs its server."""

from typing import NoReturn, Protocol

__all__ = ["GivenRunner", "Runner"]


class Runner(Protocol):
    """One server that can be started, stopped and made to fail."""

    @property
    def running(self) -> bool:
        """True while the server exists, paused or not."""
        ...

    def start(self) -> None:
        """Start it, with the data of last time; does not wait until it serves."""
        ...

    def stop(self) -> None:
        """Orderly shutdown."""
        ...

    def kill(self) -> None:
        """Crash it: no process of it is left afterwards."""
        ...

    def pause(self) -> None:
        """Freeze it with its connections open."""
        ...

    def resume(self) -> None:
        """Undo `pause`."""
        ...

    def close(self) -> None:
        """End it and remove its data."""
        ...

    def log_tail(self) -> str:
        """The last lines that it printed."""
        ...


class GivenRunner:
    """A server whose address was given: it is somebody else's, so it is only ever used."""

    running = True

    def start(self) -> None:
        """Nothing to do: whoever gave the address runs it."""

    def close(self) -> None:
        """Nothing to do: whoever gave the address keeps it."""

    def log_tail(self) -> str:
        """Its log is not ours to see."""
        return "(the server's own log)"

    def stop(self) -> None:
        """Refused."""
        self._refuse()

    def kill(self) -> None:
        """Refused."""
        self._refuse()

    def pause(self) -> None:
        """Refused."""
        self._refuse()

    def resume(self) -> None:
        """Refused."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RuntimeError(
            "the address of this server was given, it is not ours to stop: "
            "a test that breaks a server takes private_postgres or private_kafka"
        )
