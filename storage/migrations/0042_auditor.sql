-- An auditor sees what administrators see, and changes nothing of it.
ALTER TABLE users ADD COLUMN auditor BOOLEAN NOT NULL DEFAULT FALSE;
