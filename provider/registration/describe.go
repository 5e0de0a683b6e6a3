package registration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/authority"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/loopback"
	"mandate/provider/metadata"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// description is what a registration request asks for, after the server has left out what
// it does not allow (RFC 7591 §3.2.1).
type description struct {
	registration clients.Registration
	method       string          // how the client authenticates
	kept         metadata.Client // what decides nothing
	stored       string          // the same, as the JSON that the server stores
}

// describe checks a registration request against what the registrant may do and what the
// server supports. was is the application before the change. For a new application, was
// only says who is responsible for it.
func (p *Registrations) describe(
	ctx context.Context,
	said *metadata.Client,
	by registrant,
	was storage.Application,
) (description, error) {
	if by.open() && p.config.Open.StatementRequired && said.SoftwareStatement == "" {
		return description{}, refuseMember(
			"software_statement",
			"is missing: without an initial access token, this server registers applications with a software statement only, "+
				"of an issuer that it trusts",
		)
	}
	if !p.config.OpenID {
		said = withoutOpenID(said)
	}
	d := description{registration: clients.Registration{
		Name:                   said.Name,
		HashClientSecret:       true,
		RequirePushed:          said.RequirePushed,
		Profile:                said.Profile,
		PKCE:                   registeredPKCE(said.PKCE, was.PKCE),
		IntrospectionAlgorithm: said.IntrospectionAlgorithm,
		RequiredACR:            was.RequiredACR,
		LaunchURL:              was.LaunchURL,
		DefaultACR:             p.clients.SupportedACR(said.DefaultACR),
		RefreshRotation:        was.RefreshRotation,
		Resources:              oauth.Lines(was.Resources),
		AllowedGroups:          oauth.Lines(was.AllowedGroups),
		DeniedGroups:           oauth.Lines(was.DeniedGroups),
		NobodyNew:              was.NobodyNew,
	}}
	r := &d.registration
	for _, f := range clients.Fields() {
		if f.Plain {
			*f.Value(r).(*string) = said.Text(f.MetadataName())
		}
	}
	var err error
	r.SenderConstraint, err = clients.SenderConstraint(said)
	if wrong, ok := errors.AsType[*metadata.Error](err); ok {
		return d, refuseMember(wrong.Member, "%s", wrong.Problem)
	}
	may := p.rules.AllowanceOf(was)
	for _, step := range []func() error{
		func() error { return refuseEncryption(said) },
		func() error { return p.describeMethod(said, by, &d) },
		func() error { return by.describeGrants(said, may, r) },
		func() error { return p.describeRedirects(said, by, r) },
		func() error { return p.describeScopes(said, by, may, r) },
		func() error { return p.describeOpenID(said, by, r) },
	} {
		if err := step(); err != nil {
			return d, err
		}
	}
	if strings.TrimSpace(r.Name) == "" {
		r.Name = nameless(r.RedirectURIs)
	}
	r.Authentication.EndpointAudience = was.EndpointAudience // an administrator's decision
	if !by.actor.Administers() {
		r.MayIntrospect = was.MayIntrospect // Apply removes it if nobody stands for it
	}
	r.AccessTokenFormat, r.AccessTokenLifetime, r.RefreshTokenLifetime = was.AccessTokenFormat, was.AccessTokenLifetime,
		was.RefreshTokenLifetime
	if by.initial != nil {
		r.Resources = oauth.Lines(by.initial.Resources)
	}
	r.Messages = p.clients.MessagesFrom(said)
	r.Said = p.said(said, *r)
	d.kept = p.kept(said, r)
	found := &oauth.Invalid{}
	err = p.clients.Check(ctx, found, by.actor, r, was)
	if err != nil {
		return d, err
	}
	text, err := json.Marshal(d.kept.Members())
	if err != nil {
		return d, err
	}
	d.stored = string(text)
	uris := slices.Concat(r.RedirectURIs, r.PostLogoutURIs, r.Messages.RequestURIs)
	switch size := len(d.stored); {
	case by.open() && size+len(r.Authentication.JWKS)+len(strings.Join(uris, " ")) > maxOpenBytes:
		return d, refuseMember(
			"", "is too large: without an initial access token the server stores at most %d bytes", maxOpenBytes,
		)
	case size > metadata.MaxBytes: // a statement can add to what was sent
		return d, refuseMember("", "is too large: the server stores at most %d bytes", metadata.MaxBytes)
	}
	return d, invalidMetadata(found, *r)
}

// registeredPKCE returns the value of an application whose registrant says one. A registrant can only narrow: what lets
// the application come without PKCE is left out (RFC 7591 §3.2.1), also with an administrator's token.
func registeredPKCE(said, was string) string {
	if said == policy.PKCEIfSent {
		return was
	}
	return cmp.Or(said, was)
}

// describeMethod decides how the client authenticates. Without an initial access token the
// client gets no secret, because nobody would be responsible for it: such a client is public,
// unless it has a private key or its own certificate. The answer says so, and the known clients follow it.
func (p *Registrations) describeMethod(said *metadata.Client, by registrant, d *description) error {
	methods := p.clients.MethodNames(true)
	if !slices.Contains(methods, said.AuthMethod) {
		return refuseMember("token_endpoint_auth_method", "is not supported: use %s", strings.Join(methods, ", "))
	}
	d.method, d.registration.ClientType = said.AuthMethod, policy.Confidential
	if by.open() && !slices.Contains(clientauth.OpenMethods(), d.method) {
		d.method = metadata.MethodNone
	}
	one, _ := clientauth.MethodOf(d.method)
	if one.Strength == clientauth.Nothing {
		d.registration.ClientType = policy.Public
	}
	d.describeKeys(said, one)
	if one.Needs == clientauth.Subject {
		return describeSubject(said, &d.registration.Authentication)
	}
	return nil
}

// describeSubject reads the subject of the client's certificate.
//
// RFC 8705 §2.1.2: a client with tls_client_auth has exactly one of the members.
func describeSubject(said *metadata.Client, auth *clients.Authentication) error {
	of := map[string]string{
		mtls.SubjectDN: said.Subjects.DN,
		mtls.SANDNS:    said.Subjects.DNS,
		mtls.SANURI:    said.Subjects.URI,
		mtls.SANIP:     said.Subjects.IP,
		mtls.SANEmail:  said.Subjects.Email,
	}
	for _, member := range mtls.SubjectMembers() {
		switch {
		case of[member] == "":
		case auth.CertificateSubject != "":
			return refuseMember(member, "must not be there: one member alone names the subject of the certificate")
		default:
			auth.CertificateSubject = member + "=" + of[member]
		}
	}
	if auth.CertificateSubject == "" {
		return refuseMember(
			"token_endpoint_auth_method", "is tls_client_auth, which needs one of %s",
			strings.Join(mtls.SubjectMembers(), ", "),
		)
	}
	return nil
}

// describeKeys reads the public keys of the client, and the algorithm of its assertions. An
// algorithm for a method that the client does not get has no meaning.
func (d *description) describeKeys(said *metadata.Client, method clientauth.Method) {
	auth := clients.Authentication{Method: d.method, JWKS: string(said.JWKS), JWKSURI: said.JWKSURI}
	if method.Algorithms != nil {
		auth.Algorithm = said.AuthAlgorithm
	}
	d.registration.Authentication = auth
}

// describeGrants leaves out grant types that the registrant may not use. The refresh token
// grant is registered together with others.
func (by registrant) describeGrants(said *metadata.Client, may policy.Allowance, r *clients.Registration) error {
	allowed := oauth.Narrow(by.limits.Grants, may.Grants)
	r.GrantTypes = oauth.Narrow(said.GrantTypes, allowed)
	if len(r.GrantTypes) == 0 {
		return refuseMember(
			"grant_types", "has none that this registration allows: use %s",
			cmp.Or(strings.Join(allowed, ", "), "another initial access token"),
		)
	}
	return nil
}

// describeRedirects leaves out bad redirect URIs of an application for which nobody is
// responsible, as long as one is good.
//
// RFC 7591 §3.2.1 lets the server replace values, and common clients register a list for
// all servers. OIDC Registration §3.2 exempts the redirect URIs, so with an initial access
// token, each must be good.
func (p *Registrations) describeRedirects(said *metadata.Client, by registrant, r *clients.Registration) error {
	if !slices.Contains(r.GrantTypes, policy.GrantCode) {
		return nil
	}
	good, wrong := p.goodURIs(said.RedirectURIs, by)
	switch {
	case len(said.RedirectURIs) == 0:
		return refuseMember("redirect_uris", "is missing: the authorization code grant needs at least one redirect URI")
	case len(good) == 0, wrong != "" && !by.open():
		return refuseMember("redirect_uris", "has a value that is not allowed: %s", wrong)
	}
	r.RedirectURIs = good
	r.PostLogoutURIs, wrong = p.goodURIs(said.PostLogoutURIs, by)
	if wrong != "" {
		return refuseMember("post_logout_redirect_uris", "has a value that is not allowed: %s", wrong)
	}
	return nil
}

// goodURIs returns the URIs that may be registered, and what is wrong with the first other
// one.
func (p *Registrations) goodURIs(uris []string, by registrant) (good []string, first string) {
	check := p.clients.OpenRedirects().Check
	if by.open() {
		check = p.clients.CheckOpenRedirect
	}
	for _, uri := range uris {
		wrong := check(uri)
		if wrong == "" {
			good = append(good, uri)
		} else if first == "" {
			first = oauth.Clip(uri, 120) + " " + wrong
		}
	}
	return good, first
}

// describeScopes leaves out scopes that the registrant may not have.
//
// Without an initial access token the application gets every scope that its standing allows. A
// client of the Model Context Protocol registers with the scope of its first request, and
// requests another one later. The person approves each request. With a token it gets the scopes
// that the token lists. A token without a list gives no more than no token does.
func (p *Registrations) describeScopes(
	said *metadata.Client,
	by registrant,
	may policy.Allowance,
	r *clients.Registration,
) error {
	if by.open() {
		return nil
	}
	listed := by.limits.Scopes
	if len(listed) == 0 {
		listed = p.rules.Allowance(policy.StandingOpen).Scopes
	}
	asked, allowed := strings.Fields(said.Scope), oauth.Narrow(may.Scopes, listed)
	r.Scopes = allowed
	// An administrator has given this right to the token, and not to every client that has it.
	r.MayIntrospect = by.limits.Introspection && may.AdministratorRights && r.ClientType == policy.Confidential &&
		slices.Contains(
			asked, policy.Introspection,
		)
	if some := oauth.Narrow(asked, allowed); len(some) > 0 {
		r.Scopes = some
	} else if len(asked) > 0 && !r.MayIntrospect || len(allowed) == 0 { // an empty list would be every scope
		return refuseMember(
			"scope", "has none that this registration allows: use %s",
			cmp.Or(strings.Join(allowed, " "), "another initial access token"),
		)
	}
	return nil
}

// refuseEncryption returns an error for a response that is to be encrypted. Request objects need not
// be: request_object_encryption_alg only says that the client may do it.
func refuseEncryption(said *metadata.Client) error {
	for _, one := range []struct {
		member string
		cipher metadata.Encryption
	}{
		{"id_token_encrypted_response_alg", said.IDTokenEncryption},
		{"userinfo_encrypted_response_alg", said.UserInfoEncryption},
		{"introspection_encrypted_response_alg", said.IntrospectionEncryption},
		{"authorization_encrypted_response_alg", said.ResponseEncryption},
	} {
		if one.cipher != (metadata.Encryption{}) {
			return refuseMember(one.member, "cannot be registered: this server signs, and does not encrypt")
		}
	}
	return nil
}

// describeOpenID reads the metadata of OIDC Registration §2.
func (p *Registrations) describeOpenID(said *metadata.Client, by registrant, r *clients.Registration) error {
	r.Algorithm, r.UserInfoAlgorithm, r.BackchannelURI, r.SectorURI = said.IDTokenAlgorithm, said.UserInfoAlgorithm,
		said.BackchannelURI, said.SectorURI
	r.ClaimsInIDToken = said.ClaimsInIDToken
	if r.ClaimsInIDToken == policy.ClaimsOn && r.ClientType == policy.Public {
		return refuseMember(
			"claims_in_id_token",
			"cannot be registered as %s for a public client: an administrator can choose it on the page of the application",
			policy.ClaimsOn,
		)
	}
	// HS256 signs with the secret, so the server must be able to read it.
	one, _ := clientauth.MethodOf(r.Authentication.Method)
	r.HashClientSecret = r.Algorithm != jose.HS256 && r.UserInfoAlgorithm != jose.HS256 &&
		one.Needs != clientauth.ReadableSecret
	switch said.SubjectType {
	case "", "public":
	case "pairwise":
		r.Pairwise = true
	default:
		return refuseMember("subject_type", "must be public or pairwise")
	}
	// The server sends requests to this address, so a stranger must not choose any.
	if r.BackchannelURI != "" && by.open() && authority.Check(r.BackchannelURI) == "" && !clients.SharedHost(
		r.BackchannelURI, r.RedirectURIs,
	) {
		return refuseMember("backchannel_logout_uri", "must have the host of a redirect URI")
	}
	return nil
}

// withoutOpenID removes what only OpenID Connect gives a meaning (RFC 7591 §2: metadata that
// the server does not understand is ignored).
func withoutOpenID(said *metadata.Client) *metadata.Client {
	plain := *said
	plain.SubjectType, plain.SectorURI, plain.IDTokenAlgorithm, plain.UserInfoAlgorithm, plain.InitiateLoginURI,
		plain.BackchannelURI = "", "", "", "", "", ""
	plain.ClaimsInIDToken = ""
	plain.PostLogoutURIs, plain.RequireAuthTime, plain.BackchannelSession = nil, false, false
	plain.IDTokenEncryption, plain.UserInfoEncryption = metadata.Encryption{}, metadata.Encryption{}
	return &plain
}

// said names the fields whose members the registrant has sent: a profile does not set these.
func (p *Registrations) said(by *metadata.Client, r clients.Registration) []string {
	var names []string
	for _, f := range clients.Fields() {
		if by.Sent(r.MemberOf(f.Name)) && (!f.OpenID || p.config.OpenID) {
			names = append(names, f.Name)
		}
	}
	return names
}

// kept returns the metadata that decides nothing. What the server does not support is not
// in it, so that no answer promises it.
func (p *Registrations) kept(said *metadata.Client, r *clients.Registration) metadata.Client {
	return metadata.Client{
		ApplicationType:    applicationType(r.RedirectURIs),
		ClientURI:          said.ClientURI,
		LogoURI:            said.LogoURI,
		PolicyURI:          said.PolicyURI,
		TermsURI:           said.TermsURI,
		Contacts:           said.Contacts,
		Translated:         said.Translated,
		SoftwareID:         said.SoftwareID,
		SoftwareVersion:    said.SoftwareVersion,
		SoftwareStatement:  said.SoftwareStatement,
		SectorURI:          said.SectorURI,
		RequireAuthTime:    said.RequireAuthTime,
		InitiateLoginURI:   said.InitiateLoginURI,
		BackchannelSession: said.BackchannelSession && r.BackchannelURI != "",
	}
}

// applicationType follows from the redirect URIs: most native clients do not send it.
//
// OIDC Registration §2: a native client has redirect URIs on the device only.
func applicationType(uris []string) string {
	if len(uris) > 0 && !slices.ContainsFunc(uris, func(uri string) bool { return !isNative(uri) }) {
		return metadata.Native
	}
	return metadata.Web
}

// nameless returns a name for an application that sends none. RFC 7591 §2 permits the
// client id, which says nothing to people.
func nameless(uris []string) string {
	for _, uri := range uris {
		u, err := url.Parse(uri)
		if err == nil && u.Scheme == "https" {
			return "An application at " + u.Hostname()
		}
		if err == nil && !loopback.InBrowser(u.Hostname()) {
			return "The app " + u.Scheme
		}
	}
	return "A program without a name"
}

// invalidMetadata returns the first mistake as a registration error (RFC 7591 §3.2.2), or
// nil.
func invalidMetadata(found *oauth.Invalid, r clients.Registration) error {
	if found.Err() == nil {
		return nil
	}
	first := found.Fields[0]
	return refuseMember(
		r.MemberOf(first.Field), "is wrong: %s", strings.TrimSuffix(strings.ReplaceAll(first.Message, "\n", " "), "."),
	)
}

// applyDescription copies a description into the record. It returns the new secret, or "".
func (p *Registrations) applyDescription(ctx context.Context, a *storage.Application, d description) (string, error) {
	secret, err := p.clients.Apply(ctx, a, d.registration)
	a.Metadata = d.stored
	return secret, err
}

// maxSectorBytes limits the file at a sector_identifier_uri.
const maxSectorBytes = 64 << 10

// checkSector checks that the owner of the sector lists the redirect URIs. A stranger cannot
// let the server request an address in the networks of the operator.
//
// OIDC Registration §5: the file is a JSON array that has each redirect URI.
func (p *Registrations) checkSector(ctx context.Context, d description, by registrant) error {
	uri, calls, lists := d.registration.SectorURI, p.outbound, p.sectors
	if uri == "" {
		return nil
	}
	if by.open() {
		calls, lists = p.strangers, p.sectorsOfStrangers
		if u, err := url.Parse(uri); err != nil || !p.config.Open.AllowsHost(u) {
			return refuseMember(
				"sector_identifier_uri", "has a host that this server does not allow: its operator can add it to OPEN_HOSTS",
			)
		}
	}
	leave, err := lists.enter(uri, by.from)
	if err != nil {
		return err
	}
	document, err := calls.Get(ctx, uri, "application/json", maxSectorBytes)
	leave(err == nil)
	if err != nil {
		return refuseMember(
			"sector_identifier_uri",
			"could not be read: the server needs a response with the status 200, without a redirect, and with at most %d bytes",
			maxSectorBytes,
		).Because(err)
	}
	var listed []string
	if json.Unmarshal(document.Body, &listed) != nil {
		return refuseMember("sector_identifier_uri", "must lead to a JSON array of redirect URIs")
	}
	for _, uri := range d.registration.RedirectURIs {
		if !slices.Contains(listed, uri) {
			return refuseMember("sector_identifier_uri", "leads to a list without the redirect URI %s", oauth.Clip(uri, 120))
		}
	}
	return nil
}
