-- network is the site (an IPv4 /24, an IPv6 /48) from which somebody asked for the message or the link, or
-- empty. While there is no room, what came from the network that has the most makes room for others.
-- queue says whose messages wait together: empty, or strangers for people who have no account.
ALTER TABLE mails ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE mails ADD COLUMN queue TEXT NOT NULL DEFAULT '';
ALTER TABLE invitations ADD COLUMN network TEXT NOT NULL DEFAULT '';
CREATE INDEX mails_queue ON mails (queue, due_at);
