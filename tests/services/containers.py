"""The same servers from container images, where a Docker engine answers.

Containers share the host's network: a broker has to advertise the address at which tests reach it,
and that address has to stay the same over a restart.
"""

import os
import socket
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any

import docker
from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

from tests.services.kafka import KafkaBroker, NodePorts, kafka_properties
from tests.services.kafka_jars import KAFKA_VERSION
from tests.services.ports import reserve_port
from tests.services.postgres import PostgresServer, postgres_settings

__all__ = ["docker_answers", "docker_kafka", "docker_postgres"]

_DOCKER_SOCKET = "/var/run/docker.sock"
_POSTGRES_IMAGE = "postgres:17"
_KAFKA_IMAGE = f"apache/kafka:{KAFKA_VERSION}"


@cache
def docker_answers() -> bool:
    """True when a Docker engine can be reached from here."""
    if "DOCKER_HOST" not in os.environ and not _accepts(_DOCKER_SOCKET):
        return False  # asked first because the client leaks a socket when nobody answers
    try:
        client = docker.from_env(timeout=5)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except DockerException:
        return False


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


class _ContainerRunner:
    """A server in a container; the container's reaper removes it when the test run dies."""

    def __init__(self, image: str, env: Mapping[str, str], command: list[str] | None) -> None:
        self._container = DockerContainer(image, network_mode="host").with_envs(**env)
        if command is not None:
            self._container.with_command(command)
        self._created = False

    @property
    def _engine(self) -> Any:
        return self._container.get_wrapped_container()

    @property
    def running(self) -> bool:
        """True while the container runs, paused or not."""
        if not self._created:
            return False
        self._engine.reload()
        return self._engine.status in {"running", "paused"}

    def start(self) -> None:
        """Create the container, or start it again with its data."""
        if self._created:
            self._engine.start()
        else:
            self._container.start()
            self._created = True

    def stop(self) -> None:
        """Orderly shutdown; the container keeps its data."""
        self._engine.stop(timeout=30)

    def kill(self) -> None:
        """SIGKILL to everything in the container."""
        if self.running:
            self._engine.kill()
            self._engine.wait(timeout=30)

    def pause(self) -> None:
        """Freeze the container."""
        self._engine.pause()

    def resume(self) -> None:
        """Undo `pause`."""
        self._engine.unpause()

    def close(self) -> None:
        """Remove the container and its data."""
        self._container.stop()

    def log_tail(self) -> str:
        """The last lines of the container's log."""
        return str(self._engine.logs(tail=40).decode(errors="replace"))


def docker_postgres(settings: Mapping[str, str] | None = None) -> PostgresServer:
    """A started server in a container."""
    port = reserve_port()
    lines = postgres_settings(port.number, settings)
    command = ["postgres", *(word for k, v in lines.items() for word in ("-c", f"{k}={v}"))]
    runner = _ContainerRunner(_POSTGRES_IMAGE, {"POSTGRES_HOST_AUTH_METHOD": "trust"}, command)
    server = PostgresServer(f"postgresql://postgres@127.0.0.1:{port.number}", runner, port)
    server.start()
    return server


def docker_kafka(nodes: int = 1, settings: Mapping[str, str] | None = None) -> KafkaBroker:
    """A started cluster, one container a node."""
    ports = [NodePorts() for _ in range(nodes)]
    cluster = {"CLUSTER_ID": urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")}
    runners = [
        _ContainerRunner(
            _KAFKA_IMAGE, cluster | _as_env(kafka_properties(n, ports, settings)), None
        )
        for n in range(1, nodes + 1)
    ]
    broker = KafkaBroker(",".join(f"127.0.0.1:{p.client}" for p in ports), runners, ports)
    broker.start()
    return broker


def _as_env(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"KAFKA_{key.upper().replace('.', '_')}": value for key, value in properties.items()}
