"""From a journal with skewed commits to the handler, through restarts of relay and projection."""

import asyncio
from pathlib import Path

from bridge.config import load_config
from tests.hostile.targets import BRIDGE
from tests.integration.stage import Stage, rows
from tests.projections.shop import Applied, ReadModel, catch_up
from tests.services import KafkaBroker, PostgresServer


def test_what_commits_late_reaches_the_handler_in_commit_order(
    tmp_path: Path, postgres: PostgresServer, database_url: str, kafka: KafkaBroker, app: str
) -> None:
    """The order of commits is the reverse of that of timestamps, numbers and transaction ids."""
    stage = Stage(tmp_path, database_url, kafka.bootstrap_servers, app)
    config = load_config(stage.bridge.config, {})
    model = ReadModel(postgres.create_database())
    with stage.connect() as early:
        BRIDGE.append(early, rows("early", 1))  # its time, ordering and transaction id come first
        with stage.connect() as late:
            BRIDGE.append(late, rows("late", 1))
        stage.bridge.run("relay", "--until-caught-up")
        catch_up(model.projection(), config)
        assert model.applied() == [Applied("late", 1)]
    # Both have ended and begin anew; the early event lies behind everything that they have seen.
    stage.bridge.run("relay", "--until-caught-up")
    catch_up(model.projection(), config)
    assert model.applied() == [Applied("late", 1), Applied("early", 1)]
    stage.append(rows("late", 1, start=2))

    async def together() -> None:
        async with model.projection().running(config):
            with stage.relay():
                await model.holds(3)

    asyncio.run(together())
    assert model.applied()[2:] == [Applied("late", 2)]
    postgres.drop_database(model.url)
