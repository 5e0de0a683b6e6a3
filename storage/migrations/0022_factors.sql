-- Sign-in with a second factor.

-- amr has the methods of a login, separated by spaces (RFC 8176). acr is its strength in the tokens
-- of a grant. Both of a grant are those of the login at the approval. The defaults are for the
-- logins of earlier releases, which were all by password.
ALTER TABLE sessions ADD COLUMN amr TEXT NOT NULL DEFAULT 'pwd';
ALTER TABLE grants ADD COLUMN amr TEXT NOT NULL DEFAULT 'pwd';
ALTER TABLE grants ADD COLUMN acr TEXT NOT NULL DEFAULT 'urn:mandate:acr:password';

-- required_acr is the weakest login with which a person may approve the application, or empty.
ALTER TABLE applications ADD COLUMN required_acr TEXT NOT NULL DEFAULT '';

-- factor_due_at is when the person must have a second factor, or 0 if nobody has asked for one.
ALTER TABLE users ADD COLUMN factor_due_at BIGINT NOT NULL DEFAULT 0;

-- The authenticator app of a person (RFC 6238). secret is encrypted under the server's key.
-- last_step is the time step of the last code that was used: each step is accepted once.
CREATE TABLE totps (
    user_id    TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_step  BIGINT NOT NULL
);

-- Recovery codes, for a person who has lost the second factor. A code that was used has no row.
CREATE TABLE recovery_codes (
    digest     TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);
CREATE INDEX recovery_codes_user ON recovery_codes (user_id);
