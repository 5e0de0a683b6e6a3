package rules

const (
	certificateTest = "conformance/mandate/attack_certificate_test.go:TestAttackCertificateOfAnother"
	selfSignedTest  = "conformance/mandate/attack_selfsigned_test.go:TestAttackSelfSignedCertificate"
)

// rfc8705 returns the rules about clients and access tokens with certificates.
func rfc8705() []Rule {
	return []Rule{
		{
			ID: "RFC8705/2/client-id", Level: Must,
			Text:     "A request of a client that authenticates with a certificate contains client_id.",
			TestedBy: certificateTest,
		},
		{
			ID: "RFC8705/2/certificate-of-client", Level: Must,
			Text:     "A client that shows a certificate that is not the one registered for its client_id gets invalid_client.",
			TestedBy: certificateTest,
		},
		{
			ID: "RFC8705/2/private-key", Level: Must,
			Text:     "The client proves in the TLS handshake that it has the private key of the certificate.",
			TestedBy: "cmd/mandate/httpserve/mutual_test.go:TestSecureMutual",
		},
		{
			ID: "RFC8705/2.1/validated", Level: Must,
			Text:     "With tls_client_auth, the certificate chain is validated, under authorities that the operator has named.",
			TestedBy: certificateTest,
		},
		{
			ID: "RFC8705/2.1.2/one-subject", Level: Must,
			Text:     "A client with tls_client_auth registers exactly one subject.",
			TestedBy: "conformance/mandate/attack_certificate_test.go:TestCertificateWithCurl",
		},
		{
			ID: "RFC8705/2.2/registered", Level: Must,
			Text:     "With self_signed_tls_client_auth, the certificate is one of those that are registered for the client. The chain is not validated.",
			TestedBy: selfSignedTest,
		},
		{
			ID: "RFC8705/2.2/rotation", Level: May,
			Text:     "With jwks_uri, a client changes its certificate without a change of its registration.",
			TestedBy: "conformance/mandate/attack_selfsigned_test.go:TestSelfSignedCertificateRotation",
		},
		{
			ID: "RFC8705/2.2.2/x5c", Level: Must,
			Text:     "The certificate is the x5c of a key in jwks or jwks_uri, and the key is that of the certificate.",
			TestedBy: selfSignedTest,
		},
		{
			ID: "RFC8705/3/same-certificate", Level: Must,
			Text:     "A resource server refuses an access token that is bound to another certificate than the one of the request.",
			TestedBy: "handlers/resource/binding_test.go:TestRFC8705",
		},
		{
			ID: "RFC8705/3.1/thumbprint", Level: Must,
			Text:     "The confirmation method x5t#S256 is the SHA-256 digest of the certificate in DER, in base64url without padding.",
			TestedBy: "provider/mtls/mtls_test.go:TestThumbprint",
		},
		{
			ID: "RFC8705/3.2/introspection", Level: Must,
			Text:     "The introspection response for a token that is bound to a certificate has cnf with x5t#S256.",
			TestedBy: "conformance/mandate/bound_api_test.go:TestCertificateBoundTokenAtAnAPI",
		},
		{
			ID: "RFC8705/5/aliases", Level: May,
			Text:     "The metadata names the endpoints at which the server asks for certificates, in mtls_endpoint_aliases.",
			TestedBy: selfSignedTest,
		},
	}
}
