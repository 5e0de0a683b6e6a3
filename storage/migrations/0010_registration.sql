-- Applications that register themselves (RFC 7591), and the tokens that let them.

-- auth_method is the only way in which the application sends its secret, or empty for
-- any way. management says who may change the registration with the registration access
-- token (RFC 7592): own is the one registrant, shared means that several have registered
-- the same application, so none of them may; empty means nobody. registration_digest
-- finds an application by what it said about itself. registration_limits is what its
-- initial access token allowed, as JSON.
ALTER TABLE applications ADD COLUMN auth_method TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN management TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN registration_digest TEXT;
ALTER TABLE applications ADD COLUMN registration_limits TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX applications_registration ON applications (registration_digest);

-- Initial access tokens. by_operator says that the operator made the token. If it is
-- false, the person maker_id did, and the token works only as long as this person is an
-- administrator. limits is JSON, resources a list of URIs by line.
CREATE TABLE initial_tokens (
    digest      TEXT PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    by_operator BOOLEAN NOT NULL,
    maker_id    TEXT REFERENCES users (id) ON DELETE CASCADE,
    limits      TEXT NOT NULL,
    resources   TEXT NOT NULL,
    uses_left   BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX initial_tokens_expires ON initial_tokens (expires_at);
CREATE INDEX initial_tokens_maker ON initial_tokens (maker_id);
