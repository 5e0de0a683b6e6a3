-- Signed introspection responses (RFC 9701).

-- introspection_algorithm signs the responses to an application that introspects. Empty:
-- RS256.
ALTER TABLE applications ADD COLUMN introspection_algorithm TEXT NOT NULL DEFAULT '';
