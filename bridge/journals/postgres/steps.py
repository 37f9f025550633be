"""The steps of an installation, and the quoted names that their statements are filled with."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from psycopg import sql

from bridge.journals.postgres.statements import compose
from bridge.journals.postgres.table import STATE_TABLE, JournalTable, Relation

__all__ = ["Names", "Step", "locked", "on_member", "transaction"]


@dataclass(frozen=True)
class Step:
    """Statements that are executed one by one, in one transaction or (a single one) outside any."""

    statements: tuple[str, ...]
    transactional: bool


class Names:
    """The quoted names of one installation; `install` and `remove` fill statements with them."""

    def __init__(self, table: JournalTable) -> None:
        self.table = table
        journal = sql.Identifier(table.schema, table.table)
        sequence = sql.Identifier(table.schema, table.sequence)
        state = sql.Identifier(table.schema, STATE_TABLE)
        self._values: dict[str, sql.Composable] = {
            "schema": sql.Identifier(table.schema),
            "journal": journal,
            "journal_name": _text(journal),
            "read_table": sql.Identifier(table.schema, table.read_table),
            "relation": journal,
            "state": state,
            "state_name": _text(state),
            "sequence": sequence,
            "sequence_name": _text(sequence),
            "table_text": sql.Literal(table.table),
            "record": sql.Literal(_record(table)),
        }

    def install(self, name: str, **more: sql.Composable) -> str:
        return compose("install", name, **{**self._values, **more})

    def remove(self, name: str, **more: sql.Composable) -> str:
        return compose("uninstall", name, **{**self._values, **more})

    def function(self, name: str) -> sql.Identifier:
        return sql.Identifier(self.table.schema, name)


def _text(name: sql.Composable) -> sql.Literal:
    return sql.Literal(name.as_string(None))


def transaction(body: Iterable[str]) -> Step:
    opening = [compose("install", name) for name in _OPENING]
    return Step((*opening, *body, compose("install", "commit")), transactional=True)


_OPENING = ("begin", "lock_timeout", "search_path", "one_installer")


def locked(lock: str) -> list[str]:
    before, after, briefly = (
        compose("install", name)
        for name in ("wait_for_lock_briefly", "wait_for_statement", "hold_lock_briefly")
    )
    return [before, lock, after, briefly]


def _record(table: JournalTable) -> str:
    """Value of the key `install` in `bridge_state`."""
    return json.dumps({"layout": table.layout, "install": table.install, "table": table.table})


def on_member(names: Names, statement: str, member: Relation) -> str:
    return names.install(
        statement,
        index_name=sql.Identifier(member.index),
        relation=sql.Identifier(member.schema, member.name),
    )
