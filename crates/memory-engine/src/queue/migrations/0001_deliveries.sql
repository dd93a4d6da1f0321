-- What waits to be handed to external providers. Times are nanoseconds since 1970 in UTC.
CREATE TABLE deliveries (
  number      INTEGER PRIMARY KEY AUTOINCREMENT,
  provider    TEXT NOT NULL,
  scope       TEXT NOT NULL,
  key         TEXT NOT NULL,
  local_id    TEXT,
  work        TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('prepared', 'waiting', 'refused')),
  attempts    INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  -- Until then a process is at it; a process that died leaves it to the next one afterwards.
  taken_until INTEGER,
  last_error  TEXT,
  UNIQUE (provider, key)
) STRICT;
CREATE INDEX deliveries_in_order ON deliveries (provider, state, scope, number);
CREATE INDEX deliveries_of ON deliveries (provider, local_id) WHERE local_id IS NOT NULL;
CREATE INDEX deliveries_taken ON deliveries (provider, scope, taken_until) WHERE taken_until IS NOT NULL;

-- What is known here as `local` is known there as `remote`.
CREATE TABLE links (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  provider  TEXT NOT NULL,
  local     TEXT NOT NULL,
  remote    TEXT NOT NULL,
  UNIQUE (provider, local)
) STRICT;
CREATE INDEX links_by_remote ON links (provider, remote);

-- What was forgotten, by its id here. Kept apart from the links, because something may be forgotten before it has one.
CREATE TABLE forgotten (
  provider TEXT NOT NULL,
  local    TEXT NOT NULL,
  PRIMARY KEY (provider, local)
) STRICT, WITHOUT ROWID;
