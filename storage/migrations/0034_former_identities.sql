-- The other servers of which a person has had an account, and has none or fewer now. An address does not link an
-- account of such a server: what was removed must not come back by itself.
CREATE TABLE former_identities (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    issuer  TEXT NOT NULL,
    PRIMARY KEY (user_id, issuer)
);
