-- The values of the attributes of a person: a JSON object from the name to a list of texts. Empty: none.
ALTER TABLE users ADD COLUMN attributes TEXT NOT NULL DEFAULT '';
