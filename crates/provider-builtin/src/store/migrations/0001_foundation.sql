-- Truth. Times are UTC nanoseconds; *_offset is the offset they were written with, in minutes.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- Scopes are stored once; every row points to its scope by number.
CREATE TABLE scopes (
    key  INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE memories (
    key             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    scope           INTEGER NOT NULL REFERENCES scopes(key),
    kind            TEXT NOT NULL,
    category        TEXT,
    title           TEXT,
    body            TEXT NOT NULL,
    tags            TEXT NOT NULL DEFAULT '[]',
    keywords        TEXT NOT NULL DEFAULT '[]',
    relevance       INTEGER NOT NULL,
    quality         REAL NOT NULL,
    attrs           TEXT NOT NULL DEFAULT '{}',
    place           TEXT,
    origin          TEXT NOT NULL,
    source_sessions TEXT NOT NULL DEFAULT '[]',
    external_id     TEXT,
    event_at        INTEGER,
    event_offset    INTEGER NOT NULL DEFAULT 0,
    observed_at     INTEGER NOT NULL,
    observed_offset INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    created_offset  INTEGER NOT NULL DEFAULT 0,
    updated_at      INTEGER NOT NULL,
    accessed_at     INTEGER,
    access_count    INTEGER NOT NULL DEFAULT 0,
    expires_at      INTEGER,
    state           TEXT NOT NULL,
    compression     TEXT NOT NULL,
    pinned          INTEGER NOT NULL DEFAULT 0,
    revision        INTEGER NOT NULL,
    canonical_hash  BLOB NOT NULL
) STRICT;
CREATE INDEX memories_by_canonical_hash ON memories(scope, canonical_hash);
CREATE INDEX memories_by_update ON memories(scope, state, updated_at);
CREATE UNIQUE INDEX memories_by_external_id ON memories(scope, external_id) WHERE external_id IS NOT NULL;

-- MinHash keys of the active memories: texts that are nearly alike share one.
CREATE TABLE near_duplicate_keys (
    scope    INTEGER NOT NULL,
    likeness INTEGER NOT NULL,
    memory   INTEGER NOT NULL REFERENCES memories(key) ON DELETE CASCADE,
    PRIMARY KEY (scope, likeness, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX near_duplicate_keys_by_memory ON near_duplicate_keys(memory);

CREATE TABLE sessions (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    scope         INTEGER NOT NULL REFERENCES scopes(key),
    session_id    TEXT NOT NULL,
    next_position INTEGER NOT NULL DEFAULT 0,
    -- the segment that the next message joins, unless it is full
    segment            INTEGER NOT NULL DEFAULT 0,
    segment_messages   INTEGER NOT NULL DEFAULT 0,
    segment_characters INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    UNIQUE (scope, session_id)
) STRICT;

CREATE TABLE messages (
    key            INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT NOT NULL UNIQUE,
    session        INTEGER NOT NULL REFERENCES sessions(key),
    position       INTEGER NOT NULL,
    segment        INTEGER NOT NULL,
    role           TEXT NOT NULL,
    speaker        TEXT,
    content        TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    created_offset INTEGER NOT NULL DEFAULT 0,
    external_id    TEXT,
    attrs          TEXT,
    state          TEXT NOT NULL DEFAULT 'active',
    UNIQUE (session, position)
) STRICT;
CREATE INDEX messages_by_segment ON messages(session, segment, position);
CREATE UNIQUE INDEX messages_by_external_id ON messages(session, external_id) WHERE external_id IS NOT NULL;

CREATE TABLE documents (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    scope       INTEGER NOT NULL REFERENCES scopes(key),
    path        TEXT NOT NULL,
    title       TEXT,
    tags        TEXT NOT NULL DEFAULT '[]',
    frontmatter TEXT NOT NULL DEFAULT '{}',
    size        INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    event_at    INTEGER,
    hash        TEXT NOT NULL,
    indexed_at  INTEGER NOT NULL,
    UNIQUE (scope, path)
) STRICT;

CREATE TABLE chunks (
    key        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    document   INTEGER NOT NULL REFERENCES documents(key) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line  INTEGER NOT NULL,
    heading    TEXT,
    text       TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_by_document ON chunks(document, ordinal);

-- Former states of memories: a change keeps what was there before.
CREATE TABLE revisions (
    memory   INTEGER NOT NULL REFERENCES memories(key) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    snapshot TEXT NOT NULL,
    PRIMARY KEY (memory, revision)
) STRICT, WITHOUT ROWID;

-- The audit trail: who did what to which item. No text of memories.
CREATE TABLE events (
    sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    operation TEXT NOT NULL,
    item      TEXT,
    revision  INTEGER,
    scope     INTEGER,
    details   TEXT
) STRICT;
CREATE INDEX events_by_item ON events(item) WHERE item IS NOT NULL;

-- What the indexes have not taken in yet: keys of entries that changed.
CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    entry    INTEGER NOT NULL
) STRICT;

CREATE TABLE index_state (
    kind        TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    applied     INTEGER NOT NULL,
    phase       TEXT NOT NULL,
    cursor      TEXT,
    PRIMARY KEY (kind, generation)
) STRICT;

CREATE TABLE embedders (
    key  INTEGER PRIMARY KEY,
    id   TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE embedding_cache (
    embedder INTEGER NOT NULL REFERENCES embedders(key),
    hash     BLOB NOT NULL,
    vector   BLOB NOT NULL,
    PRIMARY KEY (embedder, hash)
) STRICT, WITHOUT ROWID;

-- Digests of forgotten texts and foreign ids, so that they do not come back by re-import.
CREATE TABLE tombstones (
    scope  INTEGER NOT NULL,
    digest BLOB NOT NULL,
    memory TEXT,
    at     INTEGER NOT NULL,
    PRIMARY KEY (scope, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_memory ON tombstones(memory) WHERE memory IS NOT NULL;
