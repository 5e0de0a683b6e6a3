-- Invitations, and links with which people make their own accounts.

-- digest is that of the secret in the link. mailed says that the link was sent to the address, so
-- whoever uses it reads the mail of that address. asked says that nobody has invited the person, who
-- asked for the link. inviter_id is the administrator who invited; empty: the operator did, or the
-- person asked. The link works only as long as the inviter is an administrator. group_names is a list
-- by line. A link that was used is deleted.
CREATE TABLE invitations (
    id          TEXT PRIMARY KEY,
    digest      TEXT NOT NULL UNIQUE,
    email       TEXT NOT NULL,
    mailed      BOOLEAN NOT NULL,
    asked       BOOLEAN NOT NULL,
    inviter_id  TEXT REFERENCES users (id) ON DELETE CASCADE,
    group_names TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX invitations_email ON invitations (LOWER(email));
-- Nobody is invited twice.
CREATE UNIQUE INDEX invitations_invited ON invitations (LOWER(email)) WHERE NOT asked;
CREATE INDEX invitations_asked ON invitations (asked, created_at);
CREATE INDEX invitations_expires ON invitations (expires_at);
CREATE INDEX invitations_inviter ON invitations (inviter_id);

-- The message with the link is not sent after the invitation has ended.
ALTER TABLE mails ADD COLUMN invitation TEXT REFERENCES invitations (id) ON DELETE CASCADE;
CREATE INDEX mails_invitation ON mails (invitation);
