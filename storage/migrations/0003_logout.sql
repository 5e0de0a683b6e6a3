-- Logout.

-- A login is an application that a person is signed in to by one session, and
-- that wants to be told when the session ends. due_at is 0 until then, and
-- afterwards the time at which the application is told, or told again.
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

-- session_ends_at is the latest end of the session that a family ends with; 0
-- where it outlives its session.
ALTER TABLE grants ADD COLUMN session_ends_at BIGINT NOT NULL DEFAULT 0;

-- sector is the application's as it was at the approval: whoever moves it
-- elsewhere must not learn how the person is called there.
ALTER TABLE grants ADD COLUMN sector TEXT NOT NULL DEFAULT '';
