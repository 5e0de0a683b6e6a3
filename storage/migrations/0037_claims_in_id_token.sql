-- claims_in_id_token says whether the ID tokens of an application have the claims of the granted scopes: on or off. Empty:
-- as its kind says.
ALTER TABLE applications ADD COLUMN claims_in_id_token TEXT NOT NULL DEFAULT '';
