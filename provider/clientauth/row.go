package clientauth

import (
	"context"
	"net/http"
	"net/url"

	"mandate/storage"
)

// Need is what a method needs of the registration of an application.
type Need int

const (
	NoMore         Need = iota // the client id is enough
	Secret                     // a client secret
	ReadableSecret             // a client secret that the server can read back
	Keys                       // public keys
	Certificate                // public keys, one of them with a certificate
	Subject                    // the subject of a certificate that an authority issues
)

// Strength is what a client proves itself with.
type Strength int

const (
	Nothing      Strength = iota + 1 // 0 is a row that does not say it
	SharedSecret                     // a value that this server knows too
	PrivateKey                       // a key that only the client has
)

// Method is one way of client authentication (RFC 6749 §2.3). Each has a file, and is listed in methods.
type Method struct {
	Name     string // in the metadata
	Label    string // for people
	Needs    Need
	Strength Strength
	// Open says that applications for which nobody is responsible may use it, too. Everybody can register such a one,
	// or publish its metadata document.
	Open bool
	FAPI bool // it is a method of the FAPI 2.0 Security Profile (§5.3.2.1)
	// Algorithms lists the signature algorithms of its assertions, or is nil if it has no
	// assertions.
	Algorithms []string
	assertion  *place            // where its assertion stands in a request; nil: it has none
	offered    func(Config) bool // whether this server accepts it; nil: always
	// prove checks the credentials of a request, but for an assertion.
	prove func(*Checks, context.Context, storage.Application, credentials) error
}

// place is where the assertions of a method stand in a request.
type place struct {
	// has reports whether a request has an assertion there, or a part of one.
	has func(http.Header, url.Values) bool
	// read reads the assertion of such a request.
	read func(http.Header, url.Values) (credentials, error)
	// search finds what may be an assertion in a request that was refused before it was read.
	search func(*http.Request) []string
}

// OwnKey reports whether a client proves itself by a private key that it has made itself: no authority and no
// administrator has to know it.
func (m Method) OwnKey() bool { return m.Needs == Keys || m.Needs == Certificate }

// ByCertificate reports whether a client proves itself by a certificate.
func (m Method) ByCertificate() bool { return m.Needs == Certificate || m.Needs == Subject }
