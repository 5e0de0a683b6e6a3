-- jwt_typ is the typ of the signed access tokens for a resource: JWT. Empty: at+jwt (RFC 9068 §2.1).
ALTER TABLE resources ADD COLUMN jwt_typ TEXT NOT NULL DEFAULT '';
