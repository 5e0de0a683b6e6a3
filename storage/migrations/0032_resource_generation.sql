-- generation distinguishes a resource from a deleted one with the same URI. Grants, tokens, devices and consents name
-- a resource by its URI, a # and its generation. The resources that were added before have none, as what names them.
ALTER TABLE resources ADD COLUMN generation TEXT NOT NULL DEFAULT '';
