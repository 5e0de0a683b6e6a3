-- default_acr lists the values of acr for authorization requests of an application that name none, the
-- preferred one first, with spaces between (OIDC Registration §2: default_acr_values).
ALTER TABLE applications ADD COLUMN default_acr TEXT NOT NULL DEFAULT '';
