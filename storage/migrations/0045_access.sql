-- Which people may use an application. allowed_groups and denied_groups are names of groups by line. An empty allowed_groups
-- allows everybody. nobody_new: only people who have given it access before.
ALTER TABLE applications ADD COLUMN allowed_groups TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN denied_groups TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN nobody_new BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX applications_restricted ON applications (id) WHERE allowed_groups <> '' OR denied_groups <> '';

-- When a membership ends. 0: it does not end by itself.
ALTER TABLE memberships ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX memberships_expires ON memberships (expires_at) WHERE expires_at > 0;

-- The applications whose groups have changed, until the clean-up has ended the access of the people who lost it. It looks
-- at the people in the order of their ids: reached is the last one. version is that of the application.
CREATE TABLE narrowed (
    application_id TEXT PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    version        BIGINT NOT NULL,
    reached        TEXT NOT NULL
);
