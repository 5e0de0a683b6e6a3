-- Who is responsible for an application.

-- responsible is operator if the administrators of the server are responsible for
-- the application, owner if its owner is, and nobody if it registered itself. The
-- standing depends on it, and on the present state of the owner's account.
ALTER TABLE applications ADD COLUMN responsible TEXT NOT NULL DEFAULT 'owner';

-- An application without an owner was registered on the command line, or its owner
-- was deleted. The row does not show which, so the operator is responsible in both
-- cases. Only an administrator could enable the other three. (An application that an
-- older release registers on the command line after this step is suspended until an
-- administrator takes it over.)
UPDATE applications SET responsible = 'operator' WHERE owner_id IS NULL OR may_introspect OR skip_consent OR pkce_exempt;

-- version counts the changes, so that nobody overwrites a change without having
-- seen it.
ALTER TABLE applications ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- charged_to names the quota that a grant or a token counts against: the id of a
-- person, "open:" for all applications that registered themselves, or NULL if there
-- is no quota. The indexes contain only rows with a quota.
ALTER TABLE grants ADD COLUMN charged_to TEXT;
ALTER TABLE tokens ADD COLUMN charged_to TEXT;
CREATE INDEX grants_charged ON grants (charged_to, expires_at) WHERE charged_to IS NOT NULL;
CREATE INDEX tokens_charged ON tokens (charged_to, expires_at) WHERE charged_to IS NOT NULL;

CREATE INDEX applications_open ON applications (responsible) WHERE responsible = 'nobody';

-- After applications were deleted, the clean-up walks once through all tokens and
-- grants, since no index contains their application: it would slow down every issue
-- of a token. The only row contains the number of applications deleted so far, how
-- many of them the last complete walk and the present walk know, and the last key
-- that the present walk has reached.
CREATE TABLE departures (
    deleted BIGINT NOT NULL,
    walked  BIGINT NOT NULL,
    walking BIGINT NOT NULL,
    reached TEXT NOT NULL
);
INSERT INTO departures (deleted, walked, walking, reached) VALUES (0, 0, 0, '');
