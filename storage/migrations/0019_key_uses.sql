-- When an application last used each of its keys to authenticate.

-- kid is the key ID in the application's key set, or empty for a key without one. Nothing
-- depends on the rows: people see them on the page of the application.
CREATE TABLE key_uses (
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    kid            TEXT NOT NULL,
    last_used_at   BIGINT NOT NULL,
    PRIMARY KEY (application_id, kid)
);
