-- One SQL dialect for SQLite and PostgreSQL. Times are seconds since 1970, UTC.
-- Session identifiers, authorization codes and tokens are stored only as their
-- SHA-256 digests.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- id is the subject: random, never changed, never assigned again.
-- number is the primary key that the sample API shows.
-- username_key is the case-folded name: "Alice" and "alice" are the same person.
CREATE TABLE users (
    id                  TEXT PRIMARY KEY,
    number              BIGINT NOT NULL UNIQUE,
    username            TEXT NOT NULL,
    username_key        TEXT NOT NULL UNIQUE,
    email               TEXT NOT NULL,
    first_name          TEXT NOT NULL,
    last_name           TEXT NOT NULL,
    password            TEXT NOT NULL,
    active              BOOLEAN NOT NULL,
    administrator       BOOLEAN NOT NULL,
    created_at          BIGINT NOT NULL,
    password_changed_at BIGINT NOT NULL
);

CREATE TABLE groups (
    name       TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    group_name TEXT NOT NULL REFERENCES groups (name) ON DELETE CASCADE,
    PRIMARY KEY (user_id, group_name)
);
CREATE INDEX memberships_group ON memberships (group_name);

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    digest     TEXT NOT NULL UNIQUE,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    auth_time  BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    user_agent TEXT NOT NULL,
    address    TEXT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expires ON sessions (expires_at);

-- scopes is empty if the application may request every configured scope.
CREATE TABLE applications (
    id                     TEXT PRIMARY KEY,
    client_id              TEXT NOT NULL UNIQUE,
    name                   TEXT NOT NULL,
    owner_id               TEXT REFERENCES users (id) ON DELETE SET NULL,
    client_type            TEXT NOT NULL,
    grant_types            TEXT NOT NULL,
    redirect_uris          TEXT NOT NULL,
    scopes                 TEXT NOT NULL,
    hash_client_secret     BOOLEAN NOT NULL,
    secret                 TEXT NOT NULL,
    old_secret             TEXT NOT NULL,
    old_secret_expires_at  BIGINT NOT NULL,
    may_introspect         BOOLEAN NOT NULL,
    skip_consent           BOOLEAN NOT NULL,
    pkce_exempt            BOOLEAN NOT NULL,
    access_token_lifetime  BIGINT NOT NULL,
    refresh_token_lifetime BIGINT NOT NULL,
    created_at             BIGINT NOT NULL,
    updated_at             BIGINT NOT NULL
);
CREATE INDEX applications_owner ON applications (owner_id);

CREATE TABLE consents (
    user_id        TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    scope          TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    PRIMARY KEY (user_id, application_id)
);
CREATE INDEX consents_application ON consents (application_id);

-- A grant is the approval of one application by one person, and the token family
-- that was issued from it. Deleting the row revokes the whole family, because a
-- token without its grant is not active. A grant begins with an authorization code.
-- There are no foreign keys: each would lock the application's row at every login.
-- A grant whose person or application was deleted is not active, and is deleted
-- after it has expired.
CREATE TABLE grants (
    id              TEXT PRIMARY KEY,
    grant_type      TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    session_id      TEXT NOT NULL,
    scope           TEXT NOT NULL,
    auth_time       BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    code_digest     TEXT UNIQUE,
    code_expires_at BIGINT NOT NULL,
    code_used_at    BIGINT,
    code_challenge  TEXT NOT NULL,
    redirect_uri    TEXT NOT NULL,
    redirect_sent   BOOLEAN NOT NULL
);
CREATE INDEX grants_user ON grants (user_id, application_id);
CREATE INDEX grants_expires ON grants (expires_at);

-- Access and refresh tokens. grant_id is set if a person approved the token,
-- otherwise application_id is. There are no foreign keys: rows are deleted after
-- they have expired, so a revocation changes one row and never scans the table.
-- used_at and successor are set for rotated refresh tokens only.
CREATE TABLE tokens (
    digest         TEXT PRIMARY KEY,
    refresh        BOOLEAN NOT NULL,
    grant_id       TEXT,
    application_id TEXT,
    scope          TEXT NOT NULL,
    issued_at      BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    used_at        BIGINT,
    successor      TEXT
);
CREATE INDEX tokens_expires ON tokens (expires_at);
