-- Signed authorization requests (RFC 9101) and signed authorization responses (JARM).

-- object_algorithm is the only algorithm of the request objects of an application, or empty for
-- any that the server supports. require_signed refuses requests that it did not sign.
-- request_uris lists the addresses of request objects, on a line each. response_algorithm signs
-- its authorization responses, or is empty for the usual one. response_modes lists the only
-- response modes that it may use, separated by spaces, or is empty for any.
ALTER TABLE applications ADD COLUMN object_algorithm TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN require_signed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE applications ADD COLUMN request_uris TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN response_algorithm TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN response_modes TEXT NOT NULL DEFAULT '';
CREATE INDEX applications_signed_responses ON applications (id) WHERE response_algorithm <> '';
