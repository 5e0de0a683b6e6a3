-- Device authorization requests (RFC 8628): a device waits until a person approves it.

-- digest is that of the device code. user_code is a keyed digest of the code that the
-- person types: that code is short, so a plain digest of it could be guessed. state is
-- pending, approved or denied; the grant of an approved request is a row of grants, which
-- has the digest as its code_digest. network and address say where the request came from,
-- and user_agent what the device calls itself. charged_to is the quota of requests against
-- which it counts: that of an owner, or of the application itself. A device may poll again
-- at next_poll_at; poll_interval is in seconds.
CREATE TABLE devices (
    digest         TEXT PRIMARY KEY,
    user_code      TEXT NOT NULL UNIQUE,
    application_id TEXT NOT NULL,
    scope          TEXT NOT NULL,
    resource       TEXT NOT NULL,
    state          TEXT NOT NULL,
    poll_interval  BIGINT NOT NULL,
    next_poll_at   BIGINT NOT NULL,
    charged_to     TEXT NOT NULL,
    network        TEXT NOT NULL,
    address        TEXT NOT NULL,
    user_agent     TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL
);
CREATE INDEX devices_expires ON devices (expires_at);
CREATE INDEX devices_charged ON devices (charged_to, network, expires_at);
