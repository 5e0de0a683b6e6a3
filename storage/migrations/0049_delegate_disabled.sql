-- Whether an administrator of a group has disabled an account. What an administrator has disabled, only one enables.
ALTER TABLE users ADD COLUMN delegate_disabled BOOLEAN NOT NULL DEFAULT FALSE;
