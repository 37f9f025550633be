-- The tables of an actor-ts journal, and what its writers and readers do with them.

-- name: create_events
CREATE TABLE {prefix}events (
  persistence_id TEXT NOT NULL,
  sequence_nr BIGINT NOT NULL,
  payload TEXT NOT NULL,
  tags TEXT,
  timestamp BIGINT NOT NULL,
  PRIMARY KEY (persistence_id, sequence_nr)
);

-- name: create_tags
CREATE TABLE {prefix}events_tags (
  persistence_id TEXT NOT NULL,
  sequence_nr BIGINT NOT NULL,
  tag TEXT NOT NULL,
  timestamp BIGINT NOT NULL,
  PRIMARY KEY (tag, timestamp, persistence_id, sequence_nr)
);

-- name: append_event
INSERT INTO {prefix}events (persistence_id, sequence_nr, payload, tags, timestamp)
VALUES ({mark}, {mark}, {mark}, {mark}, {mark});

-- name: append_tag
INSERT INTO {prefix}events_tags (persistence_id, sequence_nr, tag, timestamp)
VALUES ({mark}, {mark}, {mark}, {mark});

-- The usual way: everything behind the greatest timestamp seen, ties told apart by the key.
-- name: behind
SELECT t.timestamp, t.persistence_id, t.sequence_nr, e.payload
FROM {prefix}events_tags AS t
JOIN {prefix}events AS e
  ON e.persistence_id = t.persistence_id AND e.sequence_nr = t.sequence_nr
WHERE t.tag = {mark} AND (t.timestamp, t.persistence_id, t.sequence_nr) > ({mark}, {mark}, {mark})
ORDER BY t.timestamp, t.persistence_id, t.sequence_nr;

-- name: everything
SELECT timestamp, persistence_id, sequence_nr, payload FROM {prefix}events
ORDER BY persistence_id, sequence_nr;
