-- Statements of the view from outside the relay. {{journal}}, {{read_table}} are quoted names.

-- name: lag_bridge
SELECT count(*), min(time), max(time) FROM (
  SELECT timestamp_ms AS time FROM {read_table} WHERE ordering > :after LIMIT :limit)

-- name: lag_actor_ts
SELECT count(*), min(time), max(time) FROM (
  SELECT "timestamp" AS time FROM {read_table} WHERE ordering > :after LIMIT :limit)

-- name: lag_history_by_time
SELECT count(*), min(time), max(time) FROM (
  SELECT "timestamp" AS time FROM {journal} AS journal
  WHERE NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                    WHERE copied.persistence_id = journal.persistence_id
                      AND copied.sequence_nr = journal.sequence_nr)
    AND (:after_0 IS NULL
         OR ("timestamp", persistence_id, sequence_nr) > (:after_0, :after_1, :after_2))
  UNION ALL
  SELECT "timestamp" FROM {read_table}
  LIMIT :limit)

-- name: lag_history_by_entity
SELECT count(*), min(time), max(time) FROM (
  SELECT "timestamp" AS time FROM {journal} AS journal
  WHERE NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                    WHERE copied.persistence_id = journal.persistence_id
                      AND copied.sequence_nr = journal.sequence_nr)
    AND (:after_0 IS NULL OR (persistence_id, sequence_nr) > (:after_0, :after_1))
  UNION ALL
  SELECT "timestamp" FROM {read_table}
  LIMIT :limit)

-- name: tag_lists
-- Some rows of the journal as they lie, for its history, and the newest ones.
SELECT DISTINCT tags FROM (SELECT tags FROM {journal} LIMIT :rows)
UNION
SELECT DISTINCT tags FROM (SELECT tags FROM {read_table} ORDER BY ordering DESC LIMIT :rows)
