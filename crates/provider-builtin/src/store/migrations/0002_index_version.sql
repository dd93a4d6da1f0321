-- The number of the newest state of an index, so that a lost one is noticed.
ALTER TABLE index_state ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
