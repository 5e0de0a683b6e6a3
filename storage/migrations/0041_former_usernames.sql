-- The usernames that people have had and have no more, because they were deleted or have another one. Applications find people by
-- the username, so nobody takes such a name without an administrator. digest is SHA-256 of the folded name; left_at is when it was
-- given up.
CREATE TABLE former_usernames (
    digest  TEXT PRIMARY KEY,
    left_at BIGINT NOT NULL
);
