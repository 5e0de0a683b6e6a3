-- Access tokens that are JWTs (RFC 9068).

-- access_token_format is opaque or jwt. A JWT has no row in tokens; one of an
-- application for itself that was revoked has one until its end, with used_at,
-- under the digest of its jti.
ALTER TABLE applications ADD COLUMN access_token_format TEXT NOT NULL DEFAULT 'opaque';
CREATE INDEX applications_signed ON applications (access_token_lifetime) WHERE access_token_format = 'jwt';
