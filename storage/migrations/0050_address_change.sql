-- A person changes their own address: the link leads to the next address, and works in the session that asked for it.
ALTER TABLE links ADD COLUMN next_email TEXT NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
