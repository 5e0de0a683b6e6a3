-- Sign-in with passkeys (Web Authentication).

-- id is the credential ID, and public_key the COSE key, both as base64url. sign_count is the
-- signature counter of the last use; an authenticator without a counter always sends 0.
-- backup_eligible never changes. transports and aaguid are what the authenticator reported about
-- itself when the passkey was made. last_used_at is 0 until the first sign-in.
-- There is no column for the user handle: it is derived from the server's key and the person.
-- There is none for user verification: a passkey is stored only if its authenticator verified the
-- person.
CREATE TABLE passkeys (
    id              TEXT PRIMARY KEY,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    public_key      TEXT NOT NULL,
    name            TEXT NOT NULL,
    sign_count      BIGINT NOT NULL,
    backup_eligible BOOLEAN NOT NULL,
    backed_up       BOOLEAN NOT NULL,
    transports      TEXT NOT NULL,
    aaguid          TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    last_used_at    BIGINT NOT NULL
);
CREATE INDEX passkeys_user ON passkeys (user_id);
