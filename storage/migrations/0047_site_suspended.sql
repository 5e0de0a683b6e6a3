-- A suspended site lets in nobody, and keeps everything that it has.
ALTER TABLE sites ADD COLUMN suspended BOOLEAN NOT NULL DEFAULT FALSE;
