-- launch_url is where people open the application. Empty: the start page does not list it.
ALTER TABLE applications ADD COLUMN launch_url TEXT NOT NULL DEFAULT '';
CREATE INDEX applications_launch ON applications (id) WHERE launch_url <> '';
