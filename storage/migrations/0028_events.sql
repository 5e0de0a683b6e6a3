-- The event log: what people, administrators, applications and the operator have done, and who has
-- tried to sign in without success.

-- A row outlives its person and its application, so it has their names as text and refers to no other
-- table. It is deleted when its time is over.
-- at is the time. Something that strangers can repeat has one row for an hour: since is the first
-- time, at the last one, and times how often it has happened.
-- actor_kind is person, application, operator, server or nobody. person_id and person_name say whom
-- the event concerns. object is what was changed or used. detail has words of the program and names of
-- fields and scopes, and never a value.
CREATE TABLE events (
    id          TEXT PRIMARY KEY,
    at          BIGINT NOT NULL,
    since       BIGINT NOT NULL,
    times       BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    actor_kind  TEXT NOT NULL,
    actor_id    TEXT NOT NULL,
    actor_name  TEXT NOT NULL,
    address     TEXT NOT NULL,
    user_agent  TEXT NOT NULL,
    person_id   TEXT NOT NULL,
    person_name TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_id   TEXT NOT NULL,
    object_name TEXT NOT NULL,
    detail      TEXT NOT NULL
);
CREATE INDEX events_at ON events (at, id);
CREATE INDEX events_kind ON events (kind, at, id);
CREATE INDEX events_person ON events (person_id, at, id);
CREATE INDEX events_actor ON events (actor_id, at, id);
CREATE INDEX events_object ON events (object_id, at, id);
CREATE INDEX events_address ON events (address, at, id);
