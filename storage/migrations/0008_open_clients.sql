-- Applications that registered themselves.

-- origin says how an application came here: page, command, registration or document.
-- It is empty for applications that are older than this column. metadata is what a
-- registration says about the application and what decides nothing, as JSON.
-- last_used_at is 0 for an application that was never used.
ALTER TABLE applications ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN metadata TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;

-- For the clean-up of applications that nobody uses.
CREATE INDEX applications_unused ON applications (last_used_at, created_at) WHERE responsible = 'nobody';
