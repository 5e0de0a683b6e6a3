-- Mail to people, and the links in it.

-- digest is that of the secret in the link. kind says what the link is for: reset (a new
-- password) or address (the address belongs to the person). The link works only while email
-- is the address of the person. A link that was used is deleted.
CREATE TABLE links (
    digest     TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    email      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX links_expires ON links (expires_at);
CREATE INDEX links_user ON links (user_id);

-- The queue of mail. body is encrypted. user_id is the person to whom the message goes, and
-- link the link in it: without them it is not sent. A node reserves a message by moving
-- due_at. A message that was sent is deleted.
CREATE TABLE mails (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    user_id    TEXT REFERENCES users (id) ON DELETE CASCADE,
    link       TEXT REFERENCES links (digest) ON DELETE CASCADE,
    body       TEXT NOT NULL,
    attempts   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX mails_due ON mails (due_at);
CREATE INDEX mails_expires ON mails (expires_at);
CREATE INDEX mails_kind ON mails (kind);
CREATE INDEX mails_user ON mails (user_id);
CREATE INDEX mails_link ON mails (link);

-- How many messages somebody got in one hour. recipient is a keyed digest.
CREATE TABLE mail_counts (
    recipient  TEXT NOT NULL,
    hour       BIGINT NOT NULL,
    messages   BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (recipient, hour)
);
CREATE INDEX mail_counts_expires ON mail_counts (expires_at);

-- A person may ask for a new password by address.
CREATE INDEX users_email ON users (LOWER(email));
