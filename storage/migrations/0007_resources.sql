-- Resources: the APIs that tokens can be issued for (RFC 8707).

-- uri_key is the URI in its normal form, in which two URIs are compared. scopes is
-- empty if tokens for the resource may have every scope, and introspectors is a list of
-- client ids. An empty token_format or algorithm, and a lifetime of 0, mean that of the
-- application. version counts the changes, so that nobody overwrites a change without
-- having seen it.
CREATE TABLE resources (
    uri_key               TEXT PRIMARY KEY,
    uri                   TEXT NOT NULL,
    name                  TEXT NOT NULL,
    scopes                TEXT NOT NULL,
    token_format          TEXT NOT NULL,
    access_token_lifetime BIGINT NOT NULL,
    algorithm             TEXT NOT NULL,
    introspectors         TEXT NOT NULL,
    created_at            BIGINT NOT NULL,
    updated_at            BIGINT NOT NULL,
    version               BIGINT NOT NULL
);

-- Lists of URIs, separated by line feeds. Empty means the server itself, and for an
-- application: any resource.
ALTER TABLE applications ADD COLUMN resources TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN resource TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN resource TEXT NOT NULL DEFAULT '';
ALTER TABLE consents ADD COLUMN resource TEXT NOT NULL DEFAULT '';
