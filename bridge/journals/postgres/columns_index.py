"""The index of `columns` on a table that may be big, partitioned and written to."""

from collections.abc import Sequence

from psycopg import sql

from bridge.journals.postgres.steps import Names, Step, on_member, transaction
from bridge.journals.postgres.table import COLUMNS_INDEX, Relation

__all__ = ["index_steps"]


def index_steps(names: Names, members: Sequence[Relation]) -> list[Step]:
    """Indexes are built without holding up writers: leaf by leaf, then hung below the parents'."""
    if not members:
        index = sql.Identifier(COLUMNS_INDEX)
        return [Step((names.install("columns_index", index_name=index),), transactional=False)]
    steps: list[Step] = []
    for leaf in (member for member in members if member.leaf and not member.attached):
        if leaf.invalid:
            drop = names.install(
                "drop_invalid_index", index=sql.Identifier(leaf.schema, leaf.index)
            )
            steps.append(Step((drop,), transactional=False))
        build = on_member(names, "columns_index", leaf)
        steps.append(Step((build,), transactional=False))
    attach = _attach(names, members)
    return [*steps, transaction(attach)] if attach else steps


def _attach(names: Names, members: Sequence[Relation]) -> list[str]:
    by_oid = {member.oid: member for member in members}
    pairs = [
        (member, by_oid[member.parent])
        for member in members
        if member.parent is not None and not member.attached
    ]
    return [
        names.install(
            "attach_index",
            index=sql.Identifier(member.schema, member.index),
            parent_index=sql.Identifier(parent.schema, parent.index),
        )
        for member, parent in pairs
    ]
