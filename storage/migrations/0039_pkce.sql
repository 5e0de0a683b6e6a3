-- Each authorization request of the application needs a code challenge. pkce_exempt says the opposite: one if it is sent.
ALTER TABLE applications ADD COLUMN pkce_required BOOLEAN NOT NULL DEFAULT FALSE;
-- When the application last got a code without a code challenge, to within a few minutes. 0: never, as far as it is known.
ALTER TABLE applications ADD COLUMN last_without_pkce_at BIGINT NOT NULL DEFAULT 0;
