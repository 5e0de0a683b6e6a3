-- Client authentication by signed assertions (RFC 7523 §2.2).

-- auth_algorithm is the only algorithm of the assertions, or empty for any that the method
-- allows. jwks holds the public keys of the application as a JWK Set, jwks_uri the address of
-- such a set. At most one of the two is set. endpoint_audience says that the address of an
-- endpoint is accepted as the audience, too.
ALTER TABLE applications ADD COLUMN auth_algorithm TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN jwks TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN jwks_uri TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN endpoint_audience BOOLEAN NOT NULL DEFAULT FALSE;

-- One-time values that others made, such as the jti of an assertion, until they expire. digest
-- covers what kind of value it is and who made it. by_call identifies the call that stored the
-- row, so that its statement may run twice.
CREATE TABLE seen (
    digest     TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL,
    by_call    TEXT NOT NULL
);
CREATE INDEX seen_expires ON seen (expires_at);
