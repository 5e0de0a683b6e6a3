-- language is the language tag of the browser in which the person last signed in, of those that pages
-- have. Mail to the person is in this language. Empty: it is not known.
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT '';

-- language is that of the message with the link. Empty: English.
ALTER TABLE invitations ADD COLUMN language TEXT NOT NULL DEFAULT '';
