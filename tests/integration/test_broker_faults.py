"""Brokers that die, freeze, lose answers or give a transaction up, in the middle of commits."""

import random
from collections.abc import Callable

import pytest

from tests.hostile.relays import Relay
from tests.integration.conftest import StageFactory
from tests.integration.load import Load
from tests.integration.proxy import Api, Proxy
from tests.integration.stage import Stage, let_pass, rows
from tests.services import KafkaBroker
from tests.waiting import wait_until

_TRANSACTION_TIMEOUT_S = 15


def _wait_for_traffic(stage: Stage, relay: Relay, number: int = 30) -> None:
    """Return in the middle of commits."""
    start = stage.reader.log_length(stage.topic(), 1)

    def grown() -> bool:
        relay.check_alive()
        return stage.reader.log_length(stage.topic(), 1) >= start + number

    wait_until(grown, 60, "the relay publishes")


def _expect_all(stage: Stage, relay: Relay, timeout_s: float = 60) -> None:
    """The same relay goes on by itself until everything is published, once."""
    stage.wait_for(stage.stored(), timeout_s)
    relay.check_alive()
    stage.judge()


def test_a_killed_broker_loses_and_doubles_nothing(
    fragile_stage: Stage, fragile_kafka: KafkaBroker
) -> None:
    with fragile_stage.relay() as relay:
        with Load(fragile_stage.url):
            for _ in range(2):
                _wait_for_traffic(fragile_stage, relay)
                fragile_kafka.kill()
                fragile_kafka.start()
            _wait_for_traffic(fragile_stage, relay)
        _expect_all(fragile_stage, relay)


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
            _wait_for_traffic(fragile_stage, relay)
            fragile_kafka.pause()
            let_pass(pause_s)
            fragile_kafka.resume()
            assert load.committed
            _wait_for_traffic(fragile_stage, relay)
        _expect_all(fragile_stage, relay)


def test_a_transaction_that_the_broker_gave_up_is_done_again(fragile_stage: Stage) -> None:
    """A relay frozen inside a transaction comes back after the broker has aborted it."""
    with fragile_stage.relay() as relay:
        with Load(fragile_stage.url, threads=2):
            _wait_for_traffic(fragile_stage, relay)
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
                _wait_for_traffic(stage, relay)
                rng = random.Random(api.name)
                while proxy.lost[api] < losses:
                    _wait_for_traffic(stage, relay, rng.randint(1, 20))
                    before = proxy.lost[api]
                    proxy.lose_answers(api, 1)
                    wait_until(_grows(proxy, api, before), 30, "a lost answer")
                _wait_for_traffic(stage, relay)
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
        _wait_for_traffic(stage, relay, 1)
        fragile_kafka.pause()
        stage.append([e for n in range(40) for e in rows(f"e-{n}", 100)])
        let_pass(10)
        relay.check_alive()
        fragile_kafka.resume()
        _expect_all(stage, relay)
