"""Brokers that die, freeze, lose answers or give a transaction up, in the middle of commits."""

import random
from collections.abc import Callable

import pytest

from tests.hostile.relays import Relay
from tests.integration.conftest import StageFactory
from tests.integration.load import Load
from tests.integration.proxy import Api, Proxy
from tests.integration.stage import Stage, let_pass, rows
from tests.services import KafkaBroker, KafkaFactory
from tests.waiting import wait_until

_TRANSACTION_TIMEOUT_S = 15


def _expect_all(stage: Stage, relay: Relay, timeout_s: float = 60) -> None:
    """The same relay goes on by itself until everything is published, once."""
    stage.wait_for(stage.stored(), timeout_s)
    relay.check_alive()
    stage.judge()


@pytest.mark.slow
@pytest.mark.parametrize("away_s", [0, _TRANSACTION_TIMEOUT_S], ids=["back-at-once", "away-long"])
def test_a_killed_broker_loses_and_doubles_nothing(
    away_s: float, fragile_stage: Stage, fragile_kafka: KafkaBroker
) -> None:
    with fragile_stage.relay() as relay:
        with Load(fragile_stage.url):
            for _ in range(2):
                fragile_stage.wait_for_traffic(relay)
                fragile_kafka.kill()
                let_pass(away_s)
                fragile_kafka.start()
            fragile_stage.wait_for_traffic(relay)
        _expect_all(fragile_stage, relay)


@pytest.mark.slow
def test_brokers_of_a_cluster_killed_in_turn_lose_and_double_nothing(
    private_kafka: KafkaFactory, make_stage: StageFactory
) -> None:
    cluster = private_kafka(3)
    stage = make_stage(servers=cluster.bootstrap_servers)
    with stage.relay() as relay:
        with Load(stage.url):
            for node in (1, 2, 3):
                stage.wait_for_traffic(relay)
                cluster.kill(node)
                stage.wait_for_traffic(relay)
                cluster.start(node)
        _expect_all(stage, relay)


@pytest.mark.parametrize(
    "pause_s",
    [3, pytest.param(_TRANSACTION_TIMEOUT_S + 7, marks=pytest.mark.slow)],
    ids=["shortly", "beyond-the-transaction-timeout"],
)
def test_a_frozen_broker_loses_and_doubles_nothing(
    pause_s: float, fragile_stage: Stage, fragile_kafka: KafkaBroker
) -> None:
    with fragile_stage.relay() as relay:
        with Load(fragile_stage.url, threads=2) as load:
            fragile_stage.wait_for_traffic(relay)
            fragile_kafka.pause()
            let_pass(pause_s)
            fragile_kafka.resume()
            assert load.committed
            fragile_stage.wait_for_traffic(relay)
        _expect_all(fragile_stage, relay)


def test_a_transaction_that_the_broker_gave_up_is_done_again(fragile_stage: Stage) -> None:
    """A relay frozen inside a transaction comes back after the broker has aborted it."""
    with fragile_stage.relay() as relay:
        with Load(fragile_stage.url, threads=2):
            fragile_stage.wait_for_traffic(relay)
            wait_until(
                lambda: _freeze_inside_a_transaction(fragile_stage, relay), 60, "a transaction"
            )
            wait_until(lambda: not fragile_stage.reader.in_doubt(), 60, "the broker's abort")
        relay.resume()
        _expect_all(fragile_stage, relay)
    assert "FENCED" in relay.printed()


def _freeze_inside_a_transaction(stage: Stage, relay: Relay) -> bool:
    relay.check_alive()
    relay.pause()
    let_pass(0.5)  # what it sent before it froze is processed by then
    if stage.reader.in_doubt():
        return True
    relay.resume()
    return False


@pytest.mark.parametrize("api", list(Api), ids=lambda api: api.name.lower())
def test_answers_lost_after_the_broker_acted_lose_and_double_nothing(
    api: Api, make_stage: StageFactory, kafka: KafkaBroker
) -> None:
    losses = 1 if api is Api.INIT_PRODUCER_ID else 5
    with Proxy(kafka.bootstrap_servers) as proxy:
        stage = make_stage(relay_servers=proxy.address)
        if api is Api.INIT_PRODUCER_ID:
            proxy.lose_answers(api, losses)  # it is asked for at the start only
        with stage.relay() as relay:
            with Load(stage.url):
                stage.wait_for_traffic(relay)
                rng = random.Random(api.name)
                while proxy.lost[api] < losses:
                    stage.wait_for_traffic(relay, rng.randint(1, 20))
                    before = proxy.lost[api]
                    proxy.lose_answers(api, 1)
                    wait_until(_grows(proxy, api, before), 30, "a lost answer")
                stage.wait_for_traffic(relay)
            _expect_all(stage, relay)


def _grows(proxy: Proxy, api: Api, before: int) -> Callable[[], bool]:
    return lambda: proxy.lost[api] > before


def test_a_small_client_queue_waits_for_a_frozen_broker(
    fragile_kafka: KafkaBroker, make_stage: StageFactory
) -> None:
    queue = {"properties": {"queue.buffering.max.messages": "100"}}
    stage = make_stage(
        servers=fragile_kafka.bootstrap_servers,
        more={"kafka": queue, "relay": {"batch_max_records": 1000}},
    )
    with stage.relay() as relay:
        stage.append(rows("first", 1))
        stage.wait_for_traffic(relay, 1)
        fragile_kafka.pause()
        stage.append([e for n in range(40) for e in rows(f"e-{n}", 100)])
        let_pass(10)
        relay.check_alive()
        fragile_kafka.resume()
        _expect_all(stage, relay)
