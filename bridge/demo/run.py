"""One demonstration from beginning to end; it leaves nothing behind."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bridge.config import Config
from bridge.core.rows import RowKey
from bridge.demo.bridge_way import BridgeWay
from bridge.demo.cluster import cleaning, open_brokers, tidied
from bridge.demo.databases import Database, open_database
from bridge.demo.readmodel import ReadModel
from bridge.demo.result import Progress, Result, Side
from bridge.demo.story import TAG, Deposit
from bridge.demo.tally import fold, tally
from bridge.demo.usual_way import TimestampReader
from bridge.demo.writers import Writers
from bridge.journals.opening import open_installer
from bridge.verify.audit import verify

__all__ = ["Options", "run_demo"]

JOURNAL = "journal"

_LOOK_S = 0.2
_STALLED_S = 10.0
"""How long bridge may deliver nothing while events are still due; then they count as lost."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is to be shown.

    Attributes:
        run: unique name of this run: prefix of all topics, name of the schema.
        events: how many to append.
        limit_s: how long to append at most.
        fair: take event times when no other writer is at work.
        journal: address of a database; None: a SQLite file of our own.
        kafka: address of brokers; None: librdkafka's built-in test cluster.
    """

    run: str
    events: int
    limit_s: float
    fair: bool
    journal: str | None
    kafka: str | None


def run_demo(options: Options, show: Callable[[Progress], None]) -> Result:
    """Write, read both ways, compare.

    Args:
        show: called several times a second, meanwhile.

    Raises:
        BridgeError: a server is not there or not as it must be.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bridge-demo-")))
        own = f"sqlite:///{folder / 'journal.db'}"
        database = open_database(options.journal or own, options.run)
        servers, reach = open_brokers(stack, options.kafka)
        config = _config(options.run, database, servers)
        brokers = reach(config)
        if options.kafka is not None:
            stack.enter_context(tidied(brokers, options.run))
        stack.enter_context(_created(database))
        open_installer(config, JOURNAL).install(None)
        brokers.topics.ensure([f"{options.run}.{TAG}"])
        model = ReadModel(folder / "readmodel.db")
        stack.callback(model.close)
        bridge = BridgeWay(config, JOURNAL, brokers, model)
        stack.callback(bridge.stop)
        reader = TimestampReader(database)
        stack.callback(reader.finish)
        writers = Writers(database, options.events, options.limit_s, fair=options.fair)
        stack.callback(writers.stop)
        run = _Run(writers, reader, bridge, model, show)
        seconds = run.write()
        run.catch_up()
        return run.result(_everything(database), verify(config, JOURNAL, brokers).clean, seconds)


def _config(run: str, database: Database, servers: str) -> Config:
    return Config.model_validate(
        {
            "app": run,
            "kafka": {"bootstrap_servers": servers},
            "journals": {JOURNAL: dict(database.config)},
        }
    )


@contextmanager
def _created(database: Database) -> Iterator[None]:
    try:
        database.create()
        yield
    finally:
        with cleaning(database.stays):
            database.remove()


def _everything(database: Database) -> list[Deposit]:
    session = database.connect()
    try:
        return session.everything()
    finally:
        session.close()


class _Run:
    def __init__(
        self,
        writers: Writers,
        reader: TimestampReader,
        bridge: BridgeWay,
        model: ReadModel,
        show: Callable[[Progress], None],
    ) -> None:
        self._writers = writers
        self._reader = reader
        self._bridge = bridge
        self._model = model
        self._show = show
        self._began = time.monotonic()

    def write(self) -> float:
        """Wait for the writers; returns how long they took, in seconds."""
        while not self._writers.done:
            self._look()
            time.sleep(_LOOK_S)
        seconds = time.monotonic() - self._began
        self._reader.finish()
        return seconds

    def catch_up(self) -> None:
        """Wait until bridge has delivered everything, or nothing more for a while."""
        due, last = len(self._writers.committed), -1
        deadline = time.monotonic() + _STALLED_S
        while (applied := self._look().applied) < due and time.monotonic() < deadline:
            if applied > last:
                last, deadline = applied, time.monotonic() + _STALLED_S
            time.sleep(_LOOK_S)
        self._bridge.finish()
        self._look()

    def result(self, journal: list[Deposit], verified: bool, seconds: float) -> Result:
        """Compare all with the journal."""
        keys = [deposit.key for deposit in journal]
        usual = Side(
            tally(keys, [d.key for d in self._reader.arrivals]), fold(self._reader.arrivals)
        )
        balances, arrivals = self._model.read()
        lost = set[RowKey](keys) - {d.key for d in self._reader.arrivals}
        return Result(
            appended=len(journal),
            seconds=seconds,
            truth=fold(journal),
            usual=usual,
            bridge=Side(tally(keys, arrivals), balances),
            verified=verified,
            example=self._reader.example(self._writers.committed, lost),
        )

    def _look(self) -> Progress:
        self._reader.check()
        self._bridge.check()
        committed = list(self._writers.committed)
        progress = Progress(
            seconds=time.monotonic() - self._began,
            appended=len(committed),
            usual=len(self._reader.arrivals),
            passed_over=len(self._reader.passed_over(committed)),
            applied=self._model.applied(),
        )
        self._show(progress)
        return progress
