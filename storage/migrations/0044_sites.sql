-- A site is an application that knows no OpenID Connect: a reverse proxy asks this server about each request to its hosts.
-- public_paths lists the prefixes, by line, that need no sign-in. assertion says that the application gets a signed JWT.
CREATE TABLE sites (
    application_id TEXT PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    public_paths   TEXT NOT NULL,
    assertion      BOOLEAN NOT NULL
);
-- host is host or host:port, without the default port of https.
CREATE TABLE site_hosts (
    host           TEXT PRIMARY KEY,
    application_id TEXT NOT NULL REFERENCES sites (application_id) ON DELETE CASCADE
);
CREATE INDEX site_hosts_application ON site_hosts (application_id);
-- A session of a person at one host. digest is that of the cookie. It is worth nothing without the session of the person.
CREATE TABLE site_sessions (
    digest         TEXT PRIMARY KEY,
    session_id     TEXT NOT NULL,
    host           TEXT NOT NULL,
    application_id TEXT NOT NULL,
    generation     BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX site_sessions_session ON site_sessions (session_id, host);
CREATE INDEX site_sessions_expires ON site_sessions (expires_at);
