-- The journal's side of `bridge verify`. Nothing here is shared with the reading side, so that a
-- fault there cannot hide itself. States: 0 expected, 1 pending, 2 before the start.

-- name: rows_bridge
SELECT persistence_id::text, sequence_nr, array_to_json(tags)::text, {state}, false
FROM {journal} AS placed

-- name: rows_columns
SELECT persistence_id::text, sequence_nr, tags::text,
       CASE WHEN bridge_txid IS NULL THEN {history_state} ELSE {state} END, false
FROM {journal} AS placed

-- name: rows_outbox
-- A copy without its row was committed, too: its owner deleted it, perhaps before it was relayed.
SELECT coalesce(journal.persistence_id, placed.persistence_id)::text,
       coalesce(journal.sequence_nr, placed.sequence_nr),
       CASE WHEN journal.persistence_id IS NULL THEN placed.tags ELSE journal.tags END::text,
       CASE WHEN placed.txid IS NULL THEN {history_state} ELSE {state} END,
       journal.persistence_id IS NULL
FROM {journal} AS journal
FULL JOIN {outbox} AS placed
  ON placed.persistence_id = journal.persistence_id AND placed.sequence_nr = journal.sequence_nr

-- name: state
-- Behind the place in a window in progress, or in no snapshot of the cursor: pending.
CASE WHEN pg_visible_in_snapshot(placed.{txid}, %(origin)s::pg_snapshot) THEN 2
     WHEN pg_visible_in_snapshot(placed.{txid}, %(old)s::pg_snapshot) THEN 0
     WHEN pg_visible_in_snapshot(placed.{txid}, %(new)s::pg_snapshot)
          AND (placed.{ordering}, placed.persistence_id, placed.sequence_nr)
              <= (%(ordering)s::bigint, %(pid)s::text, %(seq)s::bigint) THEN 0
     ELSE 1 END

-- name: history_by_time
CASE WHEN ({row}."timestamp", {row}.persistence_id, {row}.sequence_nr)
          <= (%(time)s::bigint, %(history_pid)s::text, %(history_seq)s::bigint) THEN 0
     ELSE 1 END

-- name: history_by_entity
CASE WHEN ({row}.persistence_id, {row}.sequence_nr)
          <= (%(history_pid)s::text, %(history_seq)s::bigint) THEN 0
     ELSE 1 END

-- name: kept
SELECT persistence_id::text, min(sequence_nr) FROM {journal} GROUP BY persistence_id

-- name: kept_with_meta
SELECT coalesce(kept.persistence_id, meta.persistence_id)::text,
       greatest(kept.first, meta.deleted_to + 1)
FROM (SELECT persistence_id, min(sequence_nr) AS first FROM {journal} GROUP BY persistence_id)
     AS kept
FULL JOIN {meta} AS meta ON meta.persistence_id = kept.persistence_id

-- name: is_standby
SELECT pg_is_in_recovery()
