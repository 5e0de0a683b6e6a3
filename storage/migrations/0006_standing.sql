-- Who answers for an application.

-- responsible is operator where the administrators of the server answer for the
-- application, owner where its owner does, and nobody where it registered itself.
-- The standing follows from it, and from what the owner is now.
ALTER TABLE applications ADD COLUMN responsible TEXT NOT NULL DEFAULT 'owner';

-- An application without an owner was registered on the command line, or its owner
-- was deleted: nobody can tell, so the operator answers for both. Only an
-- administrator could switch the other three on. (What an older release registers
-- on its command line after this step is suspended until somebody takes it over.)
UPDATE applications SET responsible = 'operator' WHERE owner_id IS NULL OR may_introspect OR skip_consent OR pkce_exempt;

-- version counts the changes, so that nobody writes over a change that they have
-- not seen.
ALTER TABLE applications ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- charged_to is whose quota a grant or a token counts against: the id of a person,
-- "open:" for all applications that registered themselves, NULL where there is no
-- quota. The indexes hold only what is counted, so that the others cost nothing.
ALTER TABLE grants ADD COLUMN charged_to TEXT;
ALTER TABLE tokens ADD COLUMN charged_to TEXT;
CREATE INDEX grants_charged ON grants (charged_to, expires_at) WHERE charged_to IS NOT NULL;
CREATE INDEX tokens_charged ON tokens (charged_to, expires_at) WHERE charged_to IS NOT NULL;

CREATE INDEX applications_open ON applications (responsible) WHERE responsible = 'nobody';

-- The clean-up walks once through the tokens and the grants after applications
-- were deleted, since no index names their application: it would cost every token
-- that is issued. The one row says how many applications were deleted so far, how
-- many of them the last whole walk knew, how many the present one knows, and the
-- last key that it has looked at.
CREATE TABLE departures (
    deleted BIGINT NOT NULL,
    walked  BIGINT NOT NULL,
    walking BIGINT NOT NULL,
    reached TEXT NOT NULL
);
INSERT INTO departures (deleted, walked, walking, reached) VALUES (0, 0, 0, '');
