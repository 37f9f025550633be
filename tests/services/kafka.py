"""A Kafka cluster for tests: brokers that are also the KRaft controllers."""

import signal
import socket
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.services.kafka_jars import kafka_jars
from tests.services.ports import reserve_port
from tests.services.processes import ProcessRunner, scratch_folder
from tests.services.runners import Runner
from tests.waiting import wait_until

__all__ = ["KafkaBroker", "KafkaFactory", "NodePorts", "kafka_properties", "local_kafka"]

_READY_LIMIT_S = 90.0
_HEAP = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC")
_LOG4J = """\
status=error
rootLogger.level=warn
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %c %m%n
"""


class NodePorts:
    """The two ports of a node, reserved until `release`."""

    def __init__(self) -> None:
        self._client, self._controller = reserve_port(), reserve_port()
        self.client, self.controller = self._client.number, self._controller.number

    def release(self) -> None:
        """Let others have them."""
        self._client.release()
        self._controller.release()


class KafkaBroker:
    """A running cluster of one or more nodes. As a context manager it is closed.

    Nodes count from 1; without a node a method means all of them.

    Attributes:
        bootstrap_servers: comma-separated ``host:port`` of all nodes.
    """

    def __init__(
        self, bootstrap_servers: str, runners: Sequence[Runner], ports: Sequence[NodePorts] = ()
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._runners = list(runners)
        self._ports = list(ports)
        self._closed = False

    def start(self, node: int | None = None) -> None:
        """Start nodes, with the data of last time, and wait until the cluster serves."""
        for runner in self._chosen(node):
            runner.start()
        self.wait_until_ready()

    def stop(self, node: int | None = None) -> None:
        """Orderly shutdown."""
        for runner in self._chosen(node):
            runner.stop()

    def kill(self, node: int | None = None) -> None:
        """Crash: SIGKILL."""
        for runner in self._chosen(node):
            runner.kill()

    def pause(self, node: int | None = None) -> None:
        """Freeze: SIGSTOP. Connections stay open, nothing is answered."""
        for runner in self._chosen(node):
            runner.pause()

    def resume(self, node: int | None = None) -> None:
        """End a `pause`: SIGCONT."""
        for runner in self._chosen(node):
            runner.resume()

    def close(self) -> None:
        """End the cluster and remove its data; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for runner in self._runners:
            runner.close()
        for ports in self._ports:
            ports.release()

    def wait_until_ready(self) -> None:
        """Wait until all running nodes are members and every partition has a leader."""
        admin = AdminClient(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        wait_until(
            lambda: self._serves(admin), _READY_LIMIT_S, f"Kafka at {self.bootstrap_servers}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _chosen(self, node: int | None) -> list[Runner]:
        return self._runners if node is None else [self._runners[node - 1]]

    def _serves(self, admin: AdminClient) -> bool:
        running = [runner.running for runner in self._runners]
        if not any(running):
            raise RuntimeError(f"Kafka ended at start:\n{self._runners[0].log_tail()}")
        addresses = self.bootstrap_servers.split(",")
        if len(addresses) == len(running) and not all(
            map(_accepts, (a for a, up in zip(addresses, running, strict=True) if up))
        ):
            return False
        try:
            metadata = admin.list_topics(timeout=2)
        except KafkaException:
            return False
        partitions = [p for topic in metadata.topics.values() for p in topic.partitions.values()]
        return len(metadata.brokers) >= sum(running) and all(p.leader >= 0 for p in partitions)


class KafkaFactory(Protocol):
    """Starts a disposable cluster; settings are lines of server.properties."""

    def __call__(self, nodes: int = 1, settings: Mapping[str, str] | None = None) -> KafkaBroker:
        """Start one and wait until it serves."""
        ...


def _accepts(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def kafka_properties(
    node: int, ports: Sequence[NodePorts], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """server.properties of a node (from 1), without its data folder; overridden by `extra`."""
    replicas = min(len(ports), 3)
    own = ports[node - 1]
    voters = ",".join(f"{i}@127.0.0.1:{p.controller}" for i, p in enumerate(ports, start=1))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{own.client},CONTROLLER://127.0.0.1:{own.controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{own.client}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(replicas),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": "2" if replicas == 3 else "1",
        "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        # a broker that crashed may register again only when its last session has expired
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        **(extra or {}),
    }


def local_kafka(nodes: int = 1, settings: Mapping[str, str] | None = None) -> KafkaBroker:
    """A started cluster with data folders of its own, from Kafka's jars and the local Java."""
    jars = kafka_jars()
    ports = [NodePorts() for _ in range(nodes)]
    cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    runners = [
        _node(jars, cluster_id, kafka_properties(node, ports, settings))
        for node in range(1, nodes + 1)
    ]
    bootstrap_servers = ",".join(f"127.0.0.1:{p.client}" for p in ports)
    broker = KafkaBroker(bootstrap_servers, runners, ports)
    broker.start()
    return broker


def _node(jars: Path, cluster_id: str, properties: Mapping[str, str]) -> ProcessRunner:
    folder = scratch_folder("kafka")
    log_config = folder / "log4j2.properties"
    log_config.write_text(_LOG4J)
    config = folder / "server.properties"
    lines = {**properties, "log.dirs": str(folder / "data")}
    config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    java = ["java", *_HEAP, f"-Dlog4j2.configurationFile={log_config}", "-cp", f"{jars}/*"]
    # One word: an id that begins with "-" would be taken for an option.
    options = [f"--cluster-id={cluster_id}", "-c", str(config)]
    tool = [*java, "kafka.tools.StorageTool", "format", *options]
    done = subprocess.run(tool, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Kafka could not format its data folder:\n{done.stdout}{done.stderr}")
    return ProcessRunner([*java, "kafka.Kafka", str(config)], folder, stop_signal=signal.SIGTERM)
