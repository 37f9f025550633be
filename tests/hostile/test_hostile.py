"""The promise under hostile writers and a relay that is killed again and again.

Every committed event is in each of its topics exactly once, an entity's numbers only go up, no
effect stands before its cause: judged by a consumer that shares no code with the package, and
`bridge verify` says the same.
"""

from pathlib import Path

import pytest

from tests.hostile.scenario import Scenario
from tests.hostile.targets import ACTOR_TS_COLUMNS, ACTOR_TS_OUTBOX, BRIDGE
from tests.services import KafkaBroker

_HOSTILITIES = {
    "asynchronous",
    "commit prepared",
    "early xid",
    "effect",
    "rollback prepared",
    "rollback",
    "savepoint undone",
    "slow",
}
_DIFFERENCES = ("missing", "duplicated", "inverted", "unexpected")


def _name(value: object) -> str | None:
    return f"{value.target.name}-{value.partitions}p" if isinstance(value, Scenario) else None


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(BRIDGE, rows=20_000, kills=3, partitions=1),
        Scenario(ACTOR_TS_OUTBOX, rows=6_000, kills=3, partitions=6),
        Scenario(ACTOR_TS_COLUMNS, rows=6_000, kills=3, partitions=1),
    ],
    ids=_name,
)
def test_every_event_arrives_once_and_in_order(
    scenario: Scenario, database_url: str, kafka: KafkaBroker, app: str, tmp_path: Path
) -> None:
    _hold(scenario, database_url, kafka, app, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(BRIDGE, rows=20_000, kills=20, partitions=6, seed=2),
        Scenario(ACTOR_TS_OUTBOX, rows=20_000, kills=20, partitions=1, seed=2),
        Scenario(ACTOR_TS_COLUMNS, rows=20_000, kills=20, partitions=1, seed=2),
    ],
    ids=_name,
)
def test_every_event_arrives_once_and_in_order_through_many_kills(
    scenario: Scenario, database_url: str, kafka: KafkaBroker, app: str, tmp_path: Path
) -> None:
    _hold(scenario, database_url, kafka, app, tmp_path)


def _hold(
    scenario: Scenario, database_url: str, kafka: KafkaBroker, app: str, folder: Path
) -> None:
    outcome = scenario.run(database_url, kafka.bootstrap_servers, app, folder)
    print(f"{outcome.written} rows in {outcome.writing_s:.1f} s, {dict(outcome.hostilities)}")
    assert outcome.written >= scenario.rows
    assert outcome.hostilities.keys() >= _HOSTILITIES
    assert not any(outcome.findings.counts().values()), str(outcome.findings)
    assert {kind: outcome.verified[kind] for kind in _DIFFERENCES} == dict.fromkeys(_DIFFERENCES, 0)
