-- The rules by which an application learns more about people than its scopes say: a JSON object in each line. Empty: none.
ALTER TABLE applications ADD COLUMN claims TEXT NOT NULL DEFAULT '';
