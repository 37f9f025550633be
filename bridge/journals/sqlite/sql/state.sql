-- What is remembered in `bridge_state`. The row of the database's own id has an empty app.

-- name: read
SELECT key, value FROM bridge_state WHERE app = :app AND journal = :journal

-- name: write
INSERT INTO bridge_state (app, journal, key, value) VALUES (:app, :journal, :key, :value)
ON CONFLICT (app, journal, key) DO UPDATE SET value = excluded.value

-- name: write_once
INSERT INTO bridge_state (app, journal, key, value) VALUES (:app, :journal, :key, :value)
ON CONFLICT (app, journal, key) DO NOTHING

-- name: forget
DELETE FROM bridge_state WHERE app = :app AND journal = :journal

-- name: installs
SELECT journal, value FROM bridge_state WHERE app = '' AND key = 'install'
