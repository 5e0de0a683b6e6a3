-- unsent says that the message with the link could not be sent. A message that waits is in mails.
ALTER TABLE invitations ADD COLUMN unsent BOOLEAN NOT NULL DEFAULT FALSE;

-- An invitation is kept for a while after it has expired, and a link that somebody asked for is not.
CREATE INDEX invitations_ended ON invitations (asked, expires_at);
DROP INDEX invitations_expires;
