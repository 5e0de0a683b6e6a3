package clients

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/documents"
	"mandate/provider/events"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/storage"
)

// documentMethods lists the methods of a client with a document that authenticates: with a key or
// a certificate that everybody may know.
func (p *Clients) documentMethods() []string {
	return slices.DeleteFunc(clientauth.OpenMethods(), func(name string) bool { return !p.Offers(name) })
}

// documentMethod returns the method of client authentication of a client with a document, or
// "unusable". "" means that the client needs none. token_endpoint_auth_method is what the client
// prefers at a server that supports several methods, if it lists all of its methods too.
//
// CIMD-02 §8.2: a client that has only another method must use it.
func (p *Clients) documentMethod(c *metadata.Client) string {
	usable := p.documentMethods()
	others := oauth.Narrow(c.AuthMethods, usable)
	switch {
	case c.Sent("token_endpoint_auth_method") && slices.Contains(usable, c.AuthMethod):
		return c.AuthMethod
	case !c.Sent("token_endpoint_auth_method"), c.AuthMethod == metadata.MethodNone, slices.Contains(
		c.AuthMethods, metadata.MethodNone,
	):
		return ""
	case len(others) > 0:
		return others[0]
	}
	return "unusable"
}

// describeKeys reads how a client with a document authenticates. A client that lists none among
// its methods, and has no usable keys, is public.
func (p *Clients) describeKeys(c *metadata.Client, clientID string, told *described) error {
	method := p.documentMethod(c)
	if method == "" || method == "unusable" {
		p.describeObjectKeys(c, clientID, told)
		return nil
	}
	auth := Authentication{Method: method, JWKS: string(c.JWKS), JWKSURI: c.JWKSURI}
	if one, _ := clientauth.MethodOf(method); one.Algorithms != nil {
		auth.Algorithm = c.AuthAlgorithm
	}
	found := &oauth.Invalid{}
	p.checkAuthentication(found, Registration{
		ClientType:     policy.Confidential,
		Authentication: auth,
	}, documentClient(clientID))
	if found.Err() == nil {
		told.method, told.algorithm, told.jwks, told.jwksURI = auth.Method, auth.Algorithm, auth.JWKS, auth.JWKSURI
		return nil
	}
	if slices.Contains(c.AuthMethods, metadata.MethodNone) {
		return nil
	}
	first := found.Fields[0]
	return documents.Invalid("has a mistake in %s. %s", Registration{}.MemberOf(first.Field), first.Message)
}

// describeObjectKeys reads the keys of a public client, which only sign its request objects. It
// ignores keys that cannot be used: the client needs none.
func (p *Clients) describeObjectKeys(c *metadata.Client, clientID string, told *described) {
	auth := Authentication{JWKS: string(c.JWKS), JWKSURI: c.JWKSURI}
	found := &oauth.Invalid{}
	p.checkKeys(found, Registration{
		ClientType:     policy.Public,
		Authentication: auth,
	}, documentClient(clientID), clientauth.NoMore)
	if found.Err() == nil {
		told.jwks, told.jwksURI = auth.JWKS, auth.JWKSURI
	}
}

// documentClient returns a client with a document that nobody has approved yet.
func documentClient(clientID string) storage.Application {
	return storage.Application{ClientID: clientID, Responsible: storage.ByNobody, Origin: storage.FromDocument}
}

// describeMessages reads how a client with a document signs its requests, and how it wants the
// responses. The document is for every server, so an algorithm that this one does not have is no
// mistake of it: the client can use no request object here, or no signed response.
func (p *Clients) describeMessages(c *metadata.Client, clientID string, told *described) {
	said := p.MessagesFrom(c)
	said.RequestURIs = slices.DeleteFunc(
		said.RequestURIs, func(uri string) bool { return p.wrongRequestURI(uri, documentClient(clientID)) != "" },
	)
	said.ObjectAlgorithm, said.ResponseAlgorithm = storable(said.ObjectAlgorithm), storable(said.ResponseAlgorithm)
	for i, mode := range said.ResponseModes {
		said.ResponseModes[i] = storable(mode)
	}
	told.objectAlgorithm, told.requestURIs = said.ObjectAlgorithm, strings.Join(said.RequestURIs, "\n")
	told.requireSigned, told.responseAlgorithm = said.RequireSigned, said.ResponseAlgorithm
	told.responseModes = strings.Join(said.ResponseModes, " ")
}

// storable returns a name that the database can store. It replaces any other by one that nothing
// here has: without it, the client would be free to use everything.
func storable(name string) string {
	if name != "" && (!oauth.PlainText(name) || len(name) > 64) {
		return "unsupported"
	}
	return name
}

// storeAuthentication stores how an application authenticates now, as its document says. Without
// this, a key that the document has no longer would work at the token endpoint until the next
// approval. If the row has changed since it was read, the next request compares it again.
func (p *Clients) storeAuthentication(ctx context.Context, a storage.Application, told described) error {
	row, err := p.store.ApplicationByClientID(ctx, a.ClientID)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	if row.Version != a.Version || !policy.FollowsDocument(row) || told.authenticatesAs(describedBy(row)) {
		return nil
	}
	now, was := told.describe(row), row
	row.ClientType, row.AuthMethod, row.AuthAlgorithm, row.JWKS, row.JWKSURI, row.UpdatedAt = now.ClientType,
		now.AuthMethod, now.AuthAlgorithm, now.JWKS, now.JWKSURI, oauth.Now()
	err = p.store.UpdateApplication(
		events.Attach(ctx, ChangeEvents(was, row, &origin.Actor{Kind: origin.Server})...), row, was,
	)
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err == nil {
		p.log.Info(
			"the metadata document of an application says something else about its authentication or its keys", "client",
			a.ClientID,
		)
	}
	return oauth.Stored(err)
}
