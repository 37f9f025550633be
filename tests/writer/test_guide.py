"""The guide's example works as printed, and the rights that it names are enough."""

import re
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from bridge.writer import Event, append
from tests.writer.journal import WriterJournal

GUIDE = Path(__file__).parents[2] / "docs" / "writing-events.md"
EXAMPLE_URL = "postgresql+psycopg://shop@localhost/shop"


def _block(language: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = blocks
    assert isinstance(block, str)
    return block


def test_the_example_runs(journal: WriterJournal, capsys: pytest.CaptureFixture[str]) -> None:
    example = _block("python")
    assert EXAMPLE_URL in example
    url = journal.engine.url.render_as_string(hide_password=False)
    names: dict[str, object] = {}
    exec(compile(example.replace(EXAMPLE_URL, url), str(GUIDE), "exec"), names)
    engine = names["engine"]
    assert isinstance(engine, type(journal.engine))
    engine.dispose()
    assert [(row.sequence_nr, row.event_type) for row in journal.rows()] == [
        (1, "OrderPlaced"),
        (2, "OrderPaid"),
    ]
    assert names["last"] == 2
    assert capsys.readouterr().out == "order-1: 2 events, not 1\n"


def test_the_named_rights_are_enough(pg_journal: WriterJournal) -> None:
    role = f"shop_{pg_journal.engine.url.database}"
    grants = _block("sql").replace("TO shop;", f'TO "{role}";')
    with pg_journal.engine.begin() as connection:
        connection.execute(text(f'CREATE ROLE "{role}" LOGIN'))
        connection.execute(text(grants))
    writer = create_engine(pg_journal.engine.url.set(username=role))
    try:
        with writer.begin() as connection:
            append(connection, "x", [Event(type="t", payload={})], expected_sequence_nr=0)
    finally:
        writer.dispose()
        with pg_journal.engine.begin() as connection:
            connection.execute(text(f'DROP OWNED BY "{role}"'))
            connection.execute(text(f'DROP ROLE "{role}"'))
    assert pg_journal.numbers("x") == [1]
