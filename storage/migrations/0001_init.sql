-- One dialect for SQLite and PostgreSQL. Times are seconds since 1970, UTC.
-- Whatever a stranger could guess or steal is here only as its SHA-256 digest.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- id is the subject: random, never changed, never given again.
-- number is what the sample API calls the primary key.
-- username_key is the folded name: "Alice" and "alice" are one person.
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

-- scopes is empty where the application may ask for every configured scope.
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

-- A grant is one approval by one person for one application, and the family
-- of all tokens that came from it. Deleting the row revokes them all: a token
-- whose grant is gone is no token. It begins as an authorization code.
-- No foreign keys here either: each would lock the application's one row at
-- every login. A grant whose person or application is gone is worth nothing, and
-- leaves by its age.
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

-- Access and refresh tokens. grant_id where a person stands behind it, else
-- application_id. No foreign keys: the rows leave by their age, so that
-- revoking costs one row and never a scan.
-- used_at and successor are of rotated refresh tokens only.
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
