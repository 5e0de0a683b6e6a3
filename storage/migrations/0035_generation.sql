-- How often a password, a reset or an end of all sessions has made the browsers of a person unknown. The mark of a known
-- browser names the generation in which it was made.
ALTER TABLE users ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
