-- OpenID Connect.

-- profile is the JSON object of the standard claims that have no column.
ALTER TABLE users ADD COLUMN profile TEXT NOT NULL DEFAULT '{}';
ALTER TABLE users ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;

-- algorithm signs the ID tokens; empty means RS256. sector is empty if the
-- subjects are public, which means the same for every application.
ALTER TABLE applications ADD COLUMN algorithm TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN userinfo_algorithm TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN sector TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN post_logout_redirect_uris TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN backchannel_logout_uri TEXT NOT NULL DEFAULT '';

-- claims is the claims parameter of the request that the person approved.
ALTER TABLE grants ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN claims TEXT NOT NULL DEFAULT '';
CREATE INDEX grants_session ON grants (session_id);

-- Signing keys. sealed is the private key, encrypted with the server key.
-- A key is published from created_at to expires_at, and signs from active_at to
-- retired_at. 0 means that the time is not known yet.
CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    sealed     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    active_at  BIGINT NOT NULL,
    retired_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Only one key of each kind has no end. If two nodes rotate at the same time, only
-- one of them succeeds.
CREATE UNIQUE INDEX keys_current ON keys (kind) WHERE retired_at = 0;
