-- Everything that an application holds can be revoked at once.

-- generation counts how often that was done. A grant, a consent, or a token that an
-- application got for itself contains the generation of the application for which it
-- was made. It is valid only while the application still has this generation. So one
-- statement revokes millions of them, and also those that are stored at the same moment.
-- The generation of a token with a grant is that of the grant.
ALTER TABLE applications ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE grants ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE consents ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
