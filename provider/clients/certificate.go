package clients

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/keysets"
	"mandate/provider/limits"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/storage"
)

// This file is about clients that authenticate with a certificate: one that an authority has
// issued (RFC 8705 §2.1), or one that is registered itself (RFC 8705 §2.2).

// certificateSubject reads a subject in the form in which the database stores it: a member of
// RFC 8705 §2.1.2, an equals sign and its value. The common beginning of the members may be left
// out.
func certificateSubject(text string) mtls.Subject {
	member, value, _ := strings.Cut(text, "=")
	member = strings.TrimSpace(member)
	if !strings.HasPrefix(member, subjectPrefix) {
		member = subjectPrefix + member
	}
	return mtls.Subject{Member: member, Value: strings.TrimSpace(value)}
}

const (
	subjectPrefix = "tls_client_auth_"
	subjectForm   = "write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or san_email in place of san_dns"
)

// storedSubject returns the stored form of a subject, or "" for none.
func storedSubject(text string) string {
	if text == "" {
		return ""
	}
	s := certificateSubject(text)
	return s.Member + "=" + s.Value
}

// ShortSubject returns a stored subject as forms and commands take it.
func ShortSubject(stored string) string { return strings.TrimPrefix(stored, subjectPrefix) }

// checkCertificate checks the subject of a client's certificate. needed says that the
// application authenticates with one.
func (p *Clients) checkCertificate(found *oauth.Invalid, said Authentication, was storage.Application, needed bool) {
	const field = "certificate_subject"
	subject := storedSubject(said.CertificateSubject)
	switch {
	case needed && subject == "":
		found.Add(field, "tls_client_auth needs the subject of the certificate: %s.", subjectForm)
	case !needed && subject != "":
		found.Add(field, "Only an application with tls_client_auth has the subject of a certificate.")
	case subject == was.CertificateSubject: // it may be older than the present settings
	case !p.Offers(MethodCertificate):
		found.Add(field, "This server accepts no certificates: its operator can name the authorities that issue them with MTLS_CLIENT_AUTHORITIES_FILE.")
	default:
		named := certificateSubject(subject)
		if !slices.Contains(mtls.SubjectMembers(), named.Member) {
			found.Add(field, "This names no subject: %s.", subjectForm)
			return
		}
		err := named.Check()
		if err != nil {
			found.Add(field, "The value %s.", err)
		}
	}
}

// proveCertificate checks the certificate that a client shows.
//
// RFC 8705 §2: the certificate must be the one that is registered for the client_id.
func (p *Clients) proveCertificate(ctx context.Context, a storage.Application, sent credentials) error {
	if sent.secret != "" {
		// RFC 6749 §2.3: not more than one authentication method in one request.
		return invalidClient("This application is registered for %s: send client_id and no secret.", oauth.Own(a.AuthMethod))
	}
	shown, err := mtls.Of(ctx)
	if err != nil {
		return certificateProblem("The certificate that the reverse proxy passes cannot be read.", err)
	}
	if shown == nil {
		return invalidClient("This application is registered for %s, and the request has no client certificate: use the endpoint in mtls_endpoint_aliases of the server metadata.", oauth.Own(a.AuthMethod))
	}
	if a.AuthMethod == MethodSelfSigned {
		return p.proveRegistered(ctx, a, shown)
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
		return certificateProblem("The client certificate is not valid now, is not for clients, or was not issued by an authority that this server accepts.", err).Because(comparison(a, shown))
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
	if !certificateSubject(a.CertificateSubject).Matches(shown) {
		return invalidClient("The client certificate does not have the subject that is registered for this application.").Because(comparison(a, shown))
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

// registeredKeys names keys for the log.
func registeredKeys(keys []jose.JWK) string {
	if len(keys) == 0 {
		return "no keys"
	}
	var names []string
	for _, k := range keys {
		names = append(names, strings.TrimSpace(k.Type+" "+k.ID))
	}
	return oauth.Clip(strings.Join(names, ", "), 300)
}

// proveRegistered checks that a certificate is one of those in the keys of the client.
//
// RFC 8705 §2.2: the chain is not validated. The dates are a part of that validation, so an
// expired certificate works until it is removed from the keys: whoever registered it decides.
func (p *Clients) proveRegistered(ctx context.Context, a storage.Application, shown *mtls.Certificate) error {
	kid, known := "", []jose.JWK(nil)
	keys, err := p.keysets.find(ctx, a, func(set jose.JWKSet) []any {
		known = set.Keys
		k, found := set.WithCertificate(shown.Raw)
		if !found {
			return nil
		}
		kid = k.ID
		return []any{k}
	})
	switch {
	case len(keys) > 0:
		p.usedKey(a, kid)
		return nil
	case err == nil || errors.Is(err, jose.ErrInvalid):
		return invalidClient("The client certificate is not the first one in the x5c of a key that is registered for this application.").
			Because(errors.New("it has " + namesOn(shown) + " and x5t#S256 " + shown.Thumbprint() + ", and registered are " + registeredKeys(known)))
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, keysets.ErrBusy):
		return busyKeys()
	}
	return certificateProblem("The keys of the application cannot be fetched now, so nobody can tell whether the client certificate is registered.", err)
}

func certificateProblem(text string, cause error) *oauth.Error {
	e := invalidClient("%s", text)
	e.LogText = oauth.Clip(text+" "+cause.Error(), 300)
	return e
}
