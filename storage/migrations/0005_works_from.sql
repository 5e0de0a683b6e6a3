-- Two releases side by side.

-- schema_works_from is the oldest schema whose programs also work with this schema.
-- So nodes of two releases can run side by side, and an update can be undone. A
-- migration that only adds something does not change the value. A migration that
-- removes something, or requires more of a row, sets it to the first schema whose
-- programs work without it. Programs from before this step do not read the value.
-- (It is not a column of schema_version, because nodes that start at the same time
-- lock that table.)
INSERT INTO settings (name, value) SELECT 'schema_works_from', CAST(version + 1 AS TEXT) FROM schema_version;
