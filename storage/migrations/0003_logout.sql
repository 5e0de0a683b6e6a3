-- Logout.

-- A login means that a person is signed in to an application with a session, and
-- that the application is notified when the session ends. due_at is 0 until the
-- session ends, and then the time of the next attempt to notify the application.
CREATE TABLE logins (
    session_id     TEXT NOT NULL,
    application_id TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    sector         TEXT NOT NULL,
    owner          TEXT NOT NULL,
    due_at         BIGINT NOT NULL,
    attempts       BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    PRIMARY KEY (session_id, application_id)
);
CREATE INDEX logins_due ON logins (due_at) WHERE due_at > 0;
CREATE INDEX logins_expires ON logins (expires_at);
CREATE INDEX logins_application ON logins (application_id) WHERE due_at > 0;
CREATE INDEX sessions_seen ON sessions (seen_at);

-- session_ends_at is the latest time at which the session ends, and the token
-- family with it; 0 if the family does not end with the session.
ALTER TABLE grants ADD COLUMN session_ends_at BIGINT NOT NULL DEFAULT 0;

-- sector is the sector of the application at the time of the approval. If the
-- redirect URIs of the application change to another host later, the application
-- does not learn the person's subject for the new host from this grant.
ALTER TABLE grants ADD COLUMN sector TEXT NOT NULL DEFAULT '';
