-- A registration that is repeated keeps its time of issue (RFC 7591 §3.2.1).

-- renewed_at is when somebody last registered the same application again, or 0. The
-- clean-up of unused applications counts from it.
ALTER TABLE applications ADD COLUMN renewed_at BIGINT NOT NULL DEFAULT 0;
