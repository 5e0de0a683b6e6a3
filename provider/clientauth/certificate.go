package clientauth

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/limits"
	"mandate/provider/metadata"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/storage"
)

// MethodCertificate is the certificate of an authority, whose subject is registered (RFC 8705 §2.1).
const MethodCertificate = metadata.MethodCertificate

var issuedCertificate = Method{
	Name:     MethodCertificate,
	Label:    "Certificate of an authority",
	Needs:    Subject,
	Strength: PrivateKey,
	FAPI:     true,
	offered:  func(c Config) bool { return c.Authorities != nil },
	prove:    (*Checks).proveIssued,
}

// CertificateSubject reads a subject in the form in which the database stores it: a member of
// RFC 8705 §2.1.2, an equals sign and its value. The common beginning of the members may be left
// out.
func CertificateSubject(text string) mtls.Subject {
	member, value, _ := strings.Cut(text, "=")
	member = strings.TrimSpace(member)
	if !strings.HasPrefix(member, subjectPrefix) {
		member = subjectPrefix + member
	}
	return mtls.Subject{Member: member, Value: strings.TrimSpace(value)}
}

const subjectPrefix = "tls_client_auth_"

// StoredSubject returns the stored form of a subject, or "" for none.
func StoredSubject(text string) string {
	if text == "" {
		return ""
	}
	s := CertificateSubject(text)
	return s.Member + "=" + s.Value
}

// ShortSubject returns a stored subject as forms and commands take it.
func ShortSubject(stored string) string { return strings.TrimPrefix(stored, subjectPrefix) }

// shownCertificate returns the certificate that a client shows in the place of a secret.
//
// RFC 8705 §2: the certificate must be the one that is registered for the client_id.
func shownCertificate(ctx context.Context, a storage.Application, sent credentials) (*mtls.Certificate, error) {
	if sent.secret != "" {
		// RFC 6749 §2.3: not more than one authentication method in one request.
		return nil, invalidClient(
			"This application is registered for %s: send client_id and no secret.", oauth.Own(a.AuthMethod),
		)
	}
	shown, err := mtls.Of(ctx)
	if err != nil {
		return nil, certificateProblem("The certificate that the reverse proxy passes cannot be read.", err)
	}
	if shown == nil {
		return nil, invalidClient("This application is registered for %s, and the request has no client certificate: "+
			"use the endpoint in mtls_endpoint_aliases of the server metadata.", oauth.Own(a.AuthMethod))
	}
	return shown, nil
}

// proveIssued checks that a certificate has the registered subject, and that an authority has issued it.
func (p *Checks) proveIssued(ctx context.Context, a storage.Application, sent credentials) error {
	shown, err := shownCertificate(ctx, a, sent)
	if err != nil {
		return err
	}
	// RFC 8705 §2.1: an authority of this server must have issued the certificate. Otherwise
	// anybody could make one with this subject.
	// Whoever knows the client_id can send any chain, and each costs up to a hundred signatures. A client whose
	// certificate has expired must not keep out the others of its network.
	// Nor do its neighbours: what was verified before needs no try, and where the client has authenticated before, the
	// site does not count.
	name, where := chainName(a, shown), at(a.ID, AddressOf(ctx))
	if p.verified.has(name) {
		return matches(a, shown)
	}
	try := limits.At(limits.AtCertificate+a.ID+" ", AddressOf(ctx))
	if p.proven.knows(where) {
		try.Site = ""
	}
	giveBack, err := p.limits.Take(try)
	if err != nil {
		return err
	}
	until, err := shown.Verify(p.config.Authorities)
	if err != nil {
		return certificateProblem(
			"The client certificate is not valid now, is not for clients, or was not issued by an authority that this server "+
				"accepts.",
			err,
		).Because(comparison(a, shown))
	}
	giveBack()
	err = matches(a, shown)
	if err == nil {
		p.verified.add(name, until)
		p.proven.know(where)
	}
	return err
}

// matches compares the subject of a certificate with the registered one, which can change at any time.
func matches(a storage.Application, shown *mtls.Certificate) error {
	if !CertificateSubject(a.CertificateSubject).Matches(shown) {
		return invalidClient("The client certificate does not have the subject that is registered for this application.").
			Because(comparison(
				a, shown,
			))
	}
	return nil
}

// comparison says for the log what does not match. The operator needs it; the client does not see it.
func comparison(a storage.Application, shown *mtls.Certificate) error {
	return errors.New("it has " + namesOn(shown) + ", and " + ShortSubject(a.CertificateSubject) + " is registered")
}

// namesOn returns the subject of a certificate for the log. Whoever shows it may have chosen it.
func namesOn(shown *mtls.Certificate) string {
	return oauth.Clip(strings.Join(shown.Subjects(), " "), 300)
}

func certificateProblem(text string, cause error) *oauth.Error {
	e := invalidClient("%s", text)
	e.LogText = oauth.Clip(text+" "+cause.Error(), 300)
	return e
}
