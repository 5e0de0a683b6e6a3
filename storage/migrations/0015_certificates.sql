-- A client can authenticate with a certificate (RFC 8705 §2.1).

-- certificate_subject names the subject of the client's certificate, in the form
-- tls_client_auth_san_dns=client.example, or is empty.
ALTER TABLE applications ADD COLUMN certificate_subject TEXT NOT NULL DEFAULT '';
