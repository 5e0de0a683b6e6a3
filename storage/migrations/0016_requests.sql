-- Pushed authorization requests (RFC 9126).

-- digest is that of the request URI. The application has only its client_id here: one with
-- a metadata document may push before its first approval stores it. parameters are
-- encrypted, and removed once the request is used. charged_to is the quota of requests
-- against which it counts, and network says where it came from. A request URI can be opened
-- until opens_until. The row stays until expires_at, for a person who has opened it and
-- still signs in or decides. used_at is set when the request has its answer.
CREATE TABLE requests (
    digest      TEXT PRIMARY KEY,
    client_id   TEXT NOT NULL,
    parameters  TEXT NOT NULL,
    charged_to  TEXT NOT NULL,
    network     TEXT NOT NULL,
    opens_until BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    used_at     BIGINT
);
CREATE INDEX requests_expires ON requests (expires_at);
CREATE INDEX requests_charged ON requests (charged_to, network) WHERE used_at IS NULL;

-- require_pushed refuses the authorization requests of an application that it did not push.
ALTER TABLE applications ADD COLUMN require_pushed BOOLEAN NOT NULL DEFAULT FALSE;
