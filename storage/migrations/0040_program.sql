-- The program for which an application was registered: its name in the table of programs. Empty: none, or unknown.
ALTER TABLE applications ADD COLUMN program TEXT NOT NULL DEFAULT '';
