-- The read model that the projection builds: one row for each account.
-- `numbers` are the numbers of the account's events in the order in which they were applied.

-- name: create
CREATE TABLE balances (
  account TEXT PRIMARY KEY,
  deposits INTEGER NOT NULL,
  total INTEGER NOT NULL,
  numbers TEXT NOT NULL
);

-- name: apply
INSERT INTO balances (account, deposits, total, numbers) VALUES (:account, 1, :amount, :number)
ON CONFLICT (account) DO UPDATE SET
  deposits = deposits + 1,
  total = total + excluded.total,
  numbers = numbers || ' ' || excluded.numbers;

-- name: applied
SELECT coalesce(sum(deposits), 0) FROM balances;

-- name: read
SELECT account, deposits, total, numbers FROM balances;
