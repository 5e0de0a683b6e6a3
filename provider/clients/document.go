package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/authority"
	"mandate/provider/clientauth"
	"mandate/provider/copies"
	"mandate/provider/documents"
	"mandate/provider/events"
	"mandate/provider/jose"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/storage"
)

// This file is about clients whose client id is the URL of a metadata document
// (draft-ietf-oauth-client-id-metadata-document-02, CIMD-02). The document decides where an
// authorization begins: at the authorization endpoint, and for a pushed request. Everywhere else
// the row decides that the first approval stored, so a client works there without its document,
// and costs no fetch. The row gets the keys of a changed document as soon as this server reads it.

// maxDocumentURL is the greatest length of such a client id. CIMD-02 §3 recommends short
// ones, because people see them.
const maxDocumentURL = 500

// looksLikeDocument reports whether a client id that nobody registered can only be meant as
// the URL of a document.
func looksLikeDocument(clientID string) bool { return strings.HasPrefix(clientID, "https://") }

// documentURL reads a client id that is the URL of a document (CIMD-02 §3), or says what is
// wrong with it.
func documentURL(clientID string) (*url.URL, string) {
	if len(clientID) > maxDocumentURL {
		return nil, "must be at most 500 bytes long"
	}
	if strings.ContainsFunc(
		clientID, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) },
	) {
		return nil, "has a character that a URL must not have: percent-encode it"
	}
	u, err := url.Parse(clientID)
	wrong := authority.Check(clientID)
	switch {
	case err != nil:
		return nil, "is no URL"
	case u.Scheme != "https" || !looksLikeDocument(clientID):
		return nil, "must begin with https://"
	case wrong != "":
		return nil, wrong
	case strings.Contains(clientID, "#"):
		return nil, "must not have a fragment (#...)"
	// The document says SHOULD NOT. Many pages answer with what their query contains, so a
	// query would let a stranger make the document of somebody else's host.
	case strings.Contains(clientID, "?"):
		return nil, "must not have a query (?...)"
	// People see it as it is written.
	case strings.ToLower(u.Host) != u.Host || strings.HasSuffix(u.Hostname(), "."):
		return nil, "must have its host in lower case, without a dot at its end"
	case u.EscapedPath() == "":
		return nil, "must have a path"
	case redirect.HasDotSegment(u):
		return nil, "must not have . or .. in its path"
	}
	return u, ""
}

// AllowsDocument reports whether a client with this client id may come, whose metadata
// document is at that URL.
func (c OpenConfig) AllowsDocument(clientID string) bool {
	u, wrong := documentURL(clientID)
	return c.Documents() && wrong == "" && c.AllowsHost(u)
}

// ForAuthorization returns the application that an authorization request is about, with the
// rights that it has now. It refuses a suspended one. If the application has a metadata
// document, the document decides its name and its redirect URIs, and it may have no ID yet:
// Admit stores it. The error is an *oauth.Error, or that of the store.
func (p *Clients) ForAuthorization(ctx context.Context, clientID string) (storage.Application, error) {
	a, err := p.Client(ctx, clientID)
	unknown := errors.Is(err, storage.ErrNotFound)
	switch {
	case unknown && !looksLikeDocument(clientID):
		return a, oauth.Refuse("invalid_client", "No application with this client_id is registered here.")
	case unknown && !p.config.Open.Documents():
		return a, oauth.Refuse(
			"invalid_client",
			"No application with this client_id is registered here, and this server reads no metadata documents of clients: "+
				"its operator can allow them with OPEN_CLIENTS.",
		)
	case unknown:
		a = documentClient(clientID)
	case err != nil:
		return a, err
	}
	reason, follows := p.rules.WhySuspended(a), policy.FollowsDocument(a)
	u, wrong := documentURL(clientID)
	switch {
	case follows && wrong != "":
		return a, oauth.Refuse("invalid_client", "The client_id %s. It is the URL of a metadata document.", wrong)
	case reason != "":
		e := oauth.Refuse("unauthorized_client", "%s", reason)
		e.LogText = reason
		return a, e
	case !follows:
		return a, nil
	}
	asked := documents.Asked{
		URL:      u,
		ID:       clientID,
		Address:  clientauth.AddressOf(ctx),
		Approved: !unknown,
		For:      clientauth.Registrant(ctx, a),
	}
	told, err := p.documents.Get(ctx, asked)
	if err == nil && !unknown && !told.authenticatesAs(describedBy(a)) {
		// The document that this node keeps may be older than the row, which another node has
		// changed since.
		asked.Since = time.Unix(a.UpdatedAt+1, 0)
		told, err = p.documents.Get(ctx, asked)
		if err == nil {
			err = p.storeAuthentication(ctx, a, told)
		}
	}
	if err != nil {
		return a, err
	}
	return p.rules.Effective(told.describe(a)), nil
}

// isDescribed reports whether the metadata document at a client id says how the client authenticates where an
// authorization begins.
func (p *Clients) isDescribed(ctx context.Context, id string) bool {
	if !looksLikeDocument(id) {
		return false
	}
	known, err := p.Client(ctx, id)
	return errors.Is(err, storage.ErrNotFound) || err == nil && p.readsDocument(known)
}

// readsDocument reports whether the metadata document of a stored application says how it
// authenticates where an authorization begins.
func (p *Clients) readsDocument(a storage.Application) bool {
	return policy.FollowsDocument(a) && p.rules.WhySuspended(a) == ""
}

// clientOrDocument returns the application with a client id, as it is stored or, if it has a
// metadata document, as this describes it now.
func (p *Clients) clientOrDocument(ctx context.Context, clientID string) (storage.Application, error) {
	a, err := p.Client(ctx, clientID)
	if err == nil && !p.readsDocument(a) || err != nil && !errors.Is(
		err, storage.ErrNotFound,
	) || !looksLikeDocument(clientID) {
		return a, err
	}
	a, err = p.ForAuthorization(ctx, clientID)
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Code == "invalid_client" {
		own := *refused // others may wait for the same document
		own.Status, own.Challenge = http.StatusUnauthorized, clientauth.BasicChallenge
		return a, &own
	}
	return a, err
}

// Known returns the application that an authorization request is about, as far as this node
// knows it without a fetch: the login page shows it, and anybody can make a link to that
// page. It returns oauth.ErrNotFound for an unknown or a suspended one.
func (p *Clients) Known(ctx context.Context, clientID string) (storage.Application, error) {
	a, err := p.Client(ctx, clientID)
	unknown := errors.Is(err, storage.ErrNotFound)
	if unknown && p.config.Open.AllowsDocument(clientID) {
		a, err = documentClient(clientID), nil
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return a, oauth.ErrNotFound
	case err != nil:
		return a, oauth.Unavailable(err)
	case p.rules.WhySuspended(a) != "":
		return a, oauth.ErrNotFound
	case !policy.FollowsDocument(a):
		return a, nil
	}
	told, kept := p.documents.Kept(clientID)
	if kept {
		return p.rules.Effective(told.describe(a)), nil
	}
	if unknown {
		return a, oauth.ErrNotFound
	}
	return a, nil
}

// described is what a valid document says that concerns this server.
type described struct {
	name, grants, redirects, scopes, metadata string
	method, algorithm, jwks, jwksURI          string // of client authentication
	requirePushed                             bool
	constraint                                string // of the sender of its tokens
	introspection                             string // algorithm of the responses
	objectAlgorithm, requestURIs              string // of request objects
	requireSigned                             bool
	responseAlgorithm, responseModes          string
	defaultACR                                string
}

// describedBy returns what the document of an application said.
func describedBy(a storage.Application) described {
	return described{
		a.Name,
		a.GrantTypes,
		a.RedirectURIs,
		a.Scopes,
		a.Metadata,
		a.AuthMethod,
		a.AuthAlgorithm,
		a.JWKS,
		a.JWKSURI,
		a.RequirePushed,
		a.SenderConstraint,
		a.IntrospectionAlg,
		a.ObjectAlgorithm,
		a.RequestURIs,
		a.RequireSigned,
		a.ResponseAlgorithm,
		a.ResponseModes,
		a.DefaultACR,
	}
}

// describe returns an application as its document describes it.
func (d described) describe(a storage.Application) storage.Application {
	a.Name, a.ClientType, a.GrantTypes, a.RedirectURIs, a.Scopes, a.Metadata = d.name, policy.Public, d.grants,
		d.redirects, d.scopes, d.metadata
	a.AuthMethod, a.AuthAlgorithm, a.JWKS, a.JWKSURI = d.method, d.algorithm, d.jwks, d.jwksURI
	// CIMD-02 §8.2: a client whose document has a method with a key must use it.
	if d.method != "" {
		a.ClientType = policy.Confidential
	}
	a.AccessTokenFormat, a.RequirePushed, a.SenderConstraint = policy.FormatOpaque, d.requirePushed, d.constraint
	a.IntrospectionAlg, a.DefaultACR = d.introspection, d.defaultACR
	a.ObjectAlgorithm, a.RequestURIs, a.RequireSigned, a.ResponseAlgorithm, a.ResponseModes = d.objectAlgorithm,
		d.requestURIs, d.requireSigned, d.responseAlgorithm, d.responseModes
	return a
}

// authenticatesAs reports whether two documents say the same about client authentication.
func (d described) authenticatesAs(other described) bool {
	return d.method == other.method && d.algorithm == other.algorithm && d.jwks == other.jwks && d.jwksURI == other.jwksURI
}

// readDocument checks the document at a URL.
func (p *Clients) readDocument(clientID string, document []byte) (described, error) {
	c, err := metadata.Parse(document)
	if err != nil {
		return described{}, documents.Invalid("is not valid: %s", err)
	}
	u, err := url.Parse(clientID)
	if err != nil {
		return described{}, err
	}
	name := &oauth.Invalid{}
	people.CheckText(name, "client_name", c.Name)
	switch {
	// CIMD-02 §4: compared as text, without a normalisation.
	case !c.Sent("client_id"):
		return described{}, documents.Invalid("has no member client_id: it must be the URL of the document")
	case c.ClientID != clientID:
		return described{}, documents.Invalid(
			"has another client_id (%s): it must be the URL of the document, character by character",
			oauth.Clip(c.ClientID, 200),
		)
	// CIMD-02 §4.1: there is no way to agree on a secret.
	case c.Sent("client_secret"), c.Sent("client_secret_expires_at"):
		return described{}, documents.Invalid("has client_secret or client_secret_expires_at: remove it, because everybody " +
			"can read the document")
	case p.documentMethod(c) == "unusable":
		return described{}, documents.Invalid(
			"has token_endpoint_auth_method %s: for such a client this server supports only none, %s",
			oauth.Clip(c.AuthMethod, 80), strings.Join(p.documentMethods(), ", "),
		)
	// CIMD-02 §4.2: the document registers the redirect URIs.
	case len(c.RedirectURIs) == 0:
		return described{}, documents.Invalid("has no redirect_uris: it must list each redirect URI of the client")
	case name.Err() != nil:
		return described{}, documents.Invalid("has a client_name that people could misread. %s", name.At("client_name"))
	case !slices.Contains(c.GrantTypes, policy.GrantCode):
		return described{}, documents.Invalid("has no authorization_code in grant_types, which is the only grant type for " +
			"such a client")
	}
	var usable, problems []string
	for _, uri := range c.RedirectURIs {
		if wrong := p.CheckOpenRedirect(uri); wrong != "" {
			problems = append(problems, oauth.Clip(uri, 120)+" "+wrong)
			continue
		}
		usable = append(usable, uri)
	}
	if len(usable) == 0 {
		return described{}, documents.Invalid(
			"has no redirect URI that this server accepts: %s", strings.Join(problems, "; "),
		)
	}
	// The grants and scopes that this server does not have are no mistake of a document that
	// is for every server.
	told := described{
		name:          cmp.Or(c.Name, u.Hostname()),
		grants:        policy.GrantCode,
		defaultACR:    p.SupportedACR(c.DefaultACR),
		redirects:     strings.Join(usable, "\n"),
		scopes:        strings.Join(oauth.Narrow(strings.Fields(c.Scope), p.rules.ScopeNames()), " "),
		requirePushed: c.RequirePushed,
	}
	told.constraint, err = SenderConstraint(c)
	if err != nil {
		return described{}, documents.Invalid("is not valid: %s", err)
	}
	if slices.Contains(jose.Algorithms(), c.IntrospectionAlgorithm) { // others are for other servers
		told.introspection = c.IntrospectionAlgorithm
	}
	err = p.describeKeys(c, clientID, &told)
	if err != nil {
		return described{}, err
	}
	p.describeMessages(c, clientID, &told)
	c.JWKS, c.JWKSURI, c.RequestURIs, c.ResponseModes, c.DefaultACR = nil, "", nil, nil, nil // they are columns
	c.RequestAlgorithm, c.RequireSigned, c.ResponseAlgorithm = "", false, ""
	kept, err := json.Marshal(c.Members())
	told.metadata = string(kept)
	return told, err
}

// CheckOpenRedirect says what is wrong with the redirect URI of an application that comes by
// itself, or returns "".
func (p *Clients) CheckOpenRedirect(raw string) string {
	wrong := p.OpenRedirects().Check(raw)
	if wrong != "" {
		return wrong
	}
	u, err := url.Parse(raw)
	if err == nil && u.Scheme == "https" && !p.config.Open.AllowsHost(u) {
		return "has a host that OPEN_HOSTS of this server does not list"
	}
	return ""
}

// Admit stores an application that has a metadata document, or what the document says now,
// before a person's approval of it is stored. It returns the application as it is stored,
// with the rights that it has now. Any other application it returns as it is. Its
// *oauth.Error is one that the client may get at its redirect URI.
func (p *Clients) Admit(ctx context.Context, a storage.Application) (storage.Application, error) {
	if !policy.FollowsDocument(a) {
		return a, nil
	}
	// Another node may do the same at the same moment, so the row is read again after a
	// conflict.
	for range 5 {
		row, err := p.store.ApplicationByClientID(ctx, a.ClientID)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			err = p.addDescribed(ctx, &a)
			row = a
		case err != nil:
		case !policy.FollowsDocument(row):
			return a, oauth.Refuse("access_denied", "Somebody took responsibility for the application meanwhile. Begin again.")
		case describedBy(row) == describedBy(a):
		default:
			was := row
			row = describedBy(a).describe(row)
			row.UpdatedAt = oauth.Now()
			err = p.store.UpdateApplication(events.Attach(ctx, ChangeEvents(was, row, nil)...), row, was)
		}
		if err == nil {
			return p.rules.Effective(row), nil
		}
		if _, refused := errors.AsType[*oauth.Error](err); refused {
			return a, err
		}
		if !errors.Is(err, storage.ErrConflict) && !errors.Is(err, storage.ErrNotFound) {
			return a, oauth.Unavailable(err)
		}
	}
	return a, oauth.Later(
		http.StatusServiceUnavailable, time.Second, "The application is changing at this moment. Try again.",
	)
}

// addDescribed stores an application as its document describes it. Its ID is a new one: that
// of an application which was deleted must never come back, because its tokens would be
// valid again.
func (p *Clients) addDescribed(ctx context.Context, a *storage.Application) error {
	if a.ID != "" {
		// The row with this ID is gone, so a copy of it must not serve the token request.
		p.changes.Add(copies.Change{Kind: storage.OfApplication, ID: a.ID})
	}
	a.ID, a.CreatedAt, a.UpdatedAt = seal.Identifier(), oauth.Now(), oauth.Now()
	added := events.Event{Kind: events.ApplicationAdded, Object: events.Application(*a), Detail: a.Origin}
	err := p.store.AddApplication(events.Attach(ctx, added), *a, p.rules.AllowanceOf(*a).Quota.Applications)
	if errors.Is(err, storage.ErrFull) {
		// Another node may have taken the last place for this very application.
		row, readErr := p.store.ApplicationByClientID(ctx, a.ClientID)
		if readErr == nil && row.ID != "" {
			return storage.ErrConflict
		}
		return &oauth.Error{
			Status: http.StatusServiceUnavailable,
			Code:   "temporarily_unavailable",
			Description: "This server has as many applications with a metadata document as it may have " +
				"(OPEN_MAX_APPLICATIONS). Its operator can allow more, or register this application.",
		}
	}
	return err
}
