-- profile is a set of requirements that an application has switched on together: fapi2 or
-- fapi2-message-signing. Empty: none.
ALTER TABLE applications ADD COLUMN profile TEXT NOT NULL DEFAULT '';
