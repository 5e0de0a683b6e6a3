-- The domains of email addresses are stored as A-labels (RFC 5890 §2.3.2.1), by which addresses are looked up. address.go
-- converts those that were stored before.
UPDATE schema_version SET id = id WHERE id = 1;
