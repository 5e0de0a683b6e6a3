package command

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider/clientauth"
	"mandate/provider/clients"
)

// authFlags are the flags for the client authentication of an application.
type authFlags struct {
	said     clients.Authentication
	subjects []string
	file     string
}

func (a *authFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(
		&a.said.Method, "auth-method", "",
		"`METHOD` by which it authenticates: "+strings.Join(
			clientauth.MethodNames(true), ", ",
		)+" (default: its secret, by client_secret_basic or client_secret_post)",
	)
	f.StringVar(
		&a.said.Algorithm, "auth-algorithm", "",
		"the only `ALGORITHM` of its client assertions: "+strings.Join(
			clientauth.AssertionAlgorithms(), ", ",
		)+" (default: any that the method allows)",
	)
	f.StringVar(&a.file, "jwks", "", "`FILE` with its public keys, a JWK Set")
	f.StringVar(&a.said.JWKSURI, "jwks-uri", "", "`URI` of its public keys, a JWK Set")
	f.StringArrayVar(
		&a.subjects, "certificate-subject", nil,
		"`SUBJECT` of its certificate, such as san_dns=client.example; also subject_dn, san_uri, san_ip and san_email (RFC "+
			"8705); it sets tls_client_auth",
	)
}

// saidBy names the fields whose flags are present.
func saidBy(c *cobra.Command) []string {
	var said []string
	for _, f := range clients.Fields() {
		if c.Flags().Changed(f.Flag) {
			said = append(said, f.Name)
		}
	}
	return said
}

// read sets the values whose flags are present.
func (a *authFlags) read(c *cobra.Command, r *clients.Registration) error {
	changed, into := c.Flags().Changed, &r.Authentication
	r.Said = saidBy(c)
	err := a.readKeys()
	if err != nil {
		return err
	}
	if changed("auth-method") {
		if into.Method != a.said.Method {
			into.Algorithm = ""
		}
		into.Method = a.said.Method
		if !slices.Contains(clientauth.SubjectMethods(), into.Method) {
			into.CertificateSubject = ""
		}
	}
	if changed("certificate-subject") {
		// RFC 8705 §2.1.2: exactly one.
		if len(a.subjects) > 1 {
			return errors.New("--certificate-subject: name one subject only")
		}
		into.CertificateSubject = a.subjects[0]
		if !changed("auth-method") && !slices.Contains(clientauth.SubjectMethods(), into.Method) {
			into.Method, into.Algorithm = clientauth.MethodCertificate, ""
		}
	}
	if changed("auth-algorithm") {
		into.Algorithm = a.said.Algorithm
	}
	// New keys replace an address, and a new address replaces keys, unless both are named.
	if changed("jwks") {
		into.JWKS, into.JWKSURI = a.said.JWKS, ""
	}
	if changed("jwks-uri") {
		into.JWKSURI = a.said.JWKSURI
		if !changed("jwks") {
			into.JWKS = ""
		}
	}
	return nil
}

// readKeys reads the file of --jwks. The empty text names none.
func (a *authFlags) readKeys() error {
	if a.file == "" {
		return nil
	}
	text, err := os.ReadFile(a.file)
	if err != nil {
		return errors.New("--jwks: " + err.Error())
	}
	// It stays on this computer: nothing was sent, so the key is still secret.
	if clients.HoldsPrivateKey(string(text)) {
		return errors.New("--jwks: " + a.file + " is a private key: name the JWK Set with the public key")
	}
	a.said.JWKS = string(text)
	return nil
}
