-- Sender-constrained tokens (RFC 9449, RFC 8705 §3).

-- cnf is what a token is bound to: jkt and x5t#S256 with the thumbprint of a key or of a
-- certificate. A refresh token of a client that authenticates has the name alone: it needs
-- a proof, by any key. Empty: whoever has the token can use it.
ALTER TABLE tokens ADD COLUMN cnf TEXT NOT NULL DEFAULT '';

-- dpop_jkt is the thumbprint of the key to which the code of a grant is bound (RFC 9449 §10).
ALTER TABLE grants ADD COLUMN dpop_jkt TEXT NOT NULL DEFAULT '';

-- sender_constraint is the proof that the tokens of an application always need: dpop or
-- certificate. Empty: none, but the application can ask for it with a DPoP proof.
ALTER TABLE applications ADD COLUMN sender_constraint TEXT NOT NULL DEFAULT '';

-- sender_constrained refuses tokens for a resource that are not bound.
ALTER TABLE resources ADD COLUMN sender_constrained BOOLEAN NOT NULL DEFAULT FALSE;
