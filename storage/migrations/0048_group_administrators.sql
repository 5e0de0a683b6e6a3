-- Who administers a group: that person invites people to it and helps its members.
CREATE TABLE group_administrators (
    group_name TEXT NOT NULL REFERENCES groups (name) ON DELETE CASCADE,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (group_name, user_id)
);
CREATE INDEX group_administrators_user ON group_administrators (user_id);
