-- Two releases at once.

-- schema_works_from is the oldest schema whose programs work on this one too, so
-- that nodes of two releases serve side by side, and a release can be taken back.
-- A migration that only adds leaves it alone. One that takes something away, or
-- asks more of a row, sets it to the first schema whose programs do without. No
-- program from before this step looks at it. (It is no column of schema_version:
-- nodes that start at once wait for one another at that table.)
INSERT INTO settings (name, value) SELECT 'schema_works_from', CAST(version + 1 AS TEXT) FROM schema_version;
