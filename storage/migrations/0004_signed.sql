-- Access tokens that are JWTs (RFC 9068).

-- access_token_format is opaque or jwt. A JWT has no row in tokens, with one
-- exception: a revoked JWT of the client credentials grant has a row until it
-- expires. Its digest is that of the jti, and used_at is set.
ALTER TABLE applications ADD COLUMN access_token_format TEXT NOT NULL DEFAULT 'opaque';
CREATE INDEX applications_signed ON applications (access_token_lifetime) WHERE access_token_format = 'jwt';
