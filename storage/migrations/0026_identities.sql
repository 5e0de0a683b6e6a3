-- Sign-in with another server (OpenID Connect).

-- A person of another server. Only issuer and subject together identify them (OIDC Core §5.7).
CREATE TABLE identities (
    issuer       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- issuer is the server with which the session began, or empty.
ALTER TABLE sessions ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
