-- refresh_rotation says whether the refresh tokens of an application are rotated: on or off. Empty:
-- as the server is set.
ALTER TABLE applications ADD COLUMN refresh_rotation TEXT NOT NULL DEFAULT '';
