"""The hostile run from its first table to its last record."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hostile.checker import Findings, check
from tests.hostile.consumer import TopicReader
from tests.hostile.events import Event
from tests.hostile.plans import ALL_EVENTS
from tests.hostile.relays import Bridge, Relay, draw_moment, write_config
from tests.hostile.targets import Target
from tests.hostile.writers import HostileWriters
from tests.waiting import wait_until

__all__ = ["Outcome", "Scenario"]

_WRITING_LIMIT_S = 300.0


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes:
        written: number of committed events.
        hostilities: how often each kind happened.
        writing_s: how long the writers took.
        findings: the judge's.
        verified: report of `verify --json`.
    """

    written: int
    hostilities: Counter[str]
    writing_s: float
    findings: Findings
    verified: Mapping[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A hostile run.

    Attributes:
        target: the journal.
        rows: events that the writers commit.
        kills: relays killed, two thirds of them while writers write, the others in the catch-up.
        partitions: of every topic; with one, causality between entities is tested in full.
        seed: source of every choice.
    """

    target: Target
    rows: int
    kills: int
    partitions: int
    seed: int = 1

    def run(self, database_url: str, bootstrap_servers: str, app: str, folder: Path) -> Outcome:
        """Run it; `folder` keeps the configuration and the relays' log."""
        bridge = Bridge(folder / "bridge.yaml", folder / "relay.log")
        reader = TopicReader(bootstrap_servers, f"{app}.")
        write_config(
            bridge.config,
            app=app,
            bootstrap_servers=bootstrap_servers,
            journal={"url": database_url, **self.target.journal},
            partitions=self.partitions,
        )
        with self.target.writer(database_url) as writer_url:
            bridge.run("init")
            self.target.grant(database_url, writer_url)
            writers = HostileWriters(writer_url, self.target, self.rows, seed=self.seed)
            written, writing_s = _Killer(self, bridge, reader, app).accompany(writers)
            bridge.run("relay", "--until-caught-up")
            return Outcome(
                written=len(written),
                hostilities=writers.done,
                writing_s=writing_s,
                findings=check(written, reader.read(), lambda tag: f"{app}.{tag}"),
                verified=bridge.verify(),
            )


class _Killer:
    """Starts a relay again and again, and kills each one at a random moment."""

    def __init__(self, scenario: Scenario, bridge: Bridge, reader: TopicReader, app: str) -> None:
        self._scenario = scenario
        self._bridge = bridge
        self._rng = random.Random(scenario.seed)
        self._log_length = lambda: reader.log_length(f"{app}.{ALL_EVENTS}", scenario.partitions)

    def accompany(self, writers: HostileWriters) -> tuple[Sequence[Event], float]:
        """The ground truth and the seconds it took; every relay is dead afterwards."""
        catching_up = self._scenario.kills // 3
        started_s = time.monotonic()
        writers.start()
        try:
            for threshold in self._thresholds(self._scenario.kills - catching_up):
                self._one_life(writers, threshold)
            # No relay runs in the last part, so that there is something to catch up.
            written = writers.ground_truth(_WRITING_LIMIT_S)
        finally:
            writers.abandon()
        writing_s = time.monotonic() - started_s
        for _ in range(catching_up):
            self._one_life(writers, 0)
        return written, writing_s

    def _thresholds(self, count: int) -> list[int]:
        """Committed events from which on the next relay may be killed: all over the writing."""
        last = self._scenario.rows * 3 // 4
        return sorted(self._rng.randint(0, last) for _ in range(count))

    def _one_life(self, writers: HostileWriters, threshold: int) -> None:
        relay = Relay(self._bridge)
        try:
            wait_until(
                lambda: self._worth_killing(relay, writers, threshold),
                _WRITING_LIMIT_S,
                f"{threshold} rows",
            )
            draw_moment(self._rng).wait(relay, self._log_length)
            relay.kill()
        finally:
            relay.discard()

    @staticmethod
    def _worth_killing(relay: Relay, writers: HostileWriters, threshold: int) -> bool:
        relay.check_alive()
        return writers.committed >= threshold or not writers.running
