-- Statements of the reading side. {journal}, {read_table} are quoted identifiers, {columns}
-- one of the fragments. A length in bytes needs the cast: on text, length() counts characters.

-- name: columns_bridge
persistence_id, sequence_nr, CAST(payload AS BLOB), length(CAST(payload AS BLOB)),
tags, timestamp_ms, event_type, content_type, nullif(metadata, '{}')

-- name: columns_actor_ts
persistence_id, sequence_nr, CAST(payload AS BLOB), length(CAST(payload AS BLOB)),
tags, "timestamp", NULL, NULL, NULL

-- name: page
SELECT {columns}, ordering FROM {read_table}
WHERE ordering > :after ORDER BY ordering LIMIT :limit

-- name: entity
SELECT {columns}, sequence_nr FROM {read_table}
WHERE persistence_id = :pid AND sequence_nr BETWEEN :first AND :last
ORDER BY sequence_nr LIMIT :limit

-- name: entity_outbox
-- Rows from before the installation are in the journal only.
SELECT {columns}, sequence_nr FROM {read_table}
WHERE persistence_id = :pid AND sequence_nr BETWEEN :first AND :last
UNION ALL
SELECT {columns}, sequence_nr FROM {journal} AS journal
WHERE persistence_id = :pid AND sequence_nr BETWEEN :first AND :last
  AND NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                  WHERE copied.persistence_id = journal.persistence_id
                    AND copied.sequence_nr = journal.sequence_nr)
ORDER BY 2 LIMIT :limit

-- name: recent
-- Events published last, newest first.
SELECT persistence_id, sequence_nr FROM {read_table}
WHERE ordering <= :after ORDER BY ordering DESC LIMIT :limit

-- name: highest
-- The number that the next row will exceed; 0 in a journal that never had one.
SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = :read_table), 0),
           coalesce((SELECT max(ordering) FROM {read_table}), 0))

-- name: history_table
-- The history is sorted once per attachment, keys only, into a temporary file.
CREATE TEMP TABLE bridge_history (
  number INTEGER PRIMARY KEY, "timestamp", persistence_id, sequence_nr)

-- name: history_table_drop
DROP TABLE IF EXISTS temp.bridge_history

-- name: history_by_time
INSERT INTO temp.bridge_history ("timestamp", persistence_id, sequence_nr)
SELECT "timestamp", persistence_id, sequence_nr FROM {journal} AS journal
WHERE NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                  WHERE copied.persistence_id = journal.persistence_id
                    AND copied.sequence_nr = journal.sequence_nr)
ORDER BY "timestamp", persistence_id COLLATE BINARY, sequence_nr

-- name: history_by_entity
INSERT INTO temp.bridge_history ("timestamp", persistence_id, sequence_nr)
SELECT "timestamp", persistence_id, sequence_nr FROM {journal} AS journal
WHERE NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                  WHERE copied.persistence_id = journal.persistence_id
                    AND copied.sequence_nr = journal.sequence_nr)
ORDER BY persistence_id COLLATE BINARY, sequence_nr

-- name: history_behind_time
-- How many rows of the sorted history lie at or before a place.
SELECT coalesce(max(number), 0) FROM temp.bridge_history
WHERE ("timestamp", persistence_id, sequence_nr) <= (:after_0, :after_1, :after_2)

-- name: history_behind_entity
SELECT coalesce(max(number), 0) FROM temp.bridge_history
WHERE (persistence_id, sequence_nr) <= (:after_0, :after_1)

-- name: history_page
-- A row deleted meanwhile is gone; one that was inserted again is in the outbox.
SELECT {columns}, history.number
FROM (SELECT number, persistence_id AS pid, sequence_nr AS nr
      FROM temp.bridge_history WHERE number > :after) AS history
CROSS JOIN {journal} AS journal
  ON journal.persistence_id = history.pid COLLATE BINARY AND journal.sequence_nr = history.nr
WHERE NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                  WHERE copied.persistence_id = journal.persistence_id
                    AND copied.sequence_nr = journal.sequence_nr)
ORDER BY history.number LIMIT :limit

-- name: times_go_back
SELECT EXISTS (
  SELECT 1 FROM (
    SELECT "timestamp" < lag("timestamp") OVER (PARTITION BY persistence_id ORDER BY sequence_nr)
           AS back
    FROM {journal} AS journal
    WHERE NOT EXISTS (SELECT 1 FROM {read_table} AS copied
                      WHERE copied.persistence_id = journal.persistence_id
                        AND copied.sequence_nr = journal.sequence_nr)
  ) WHERE back)
