package documents

import (
	"errors"
	"fmt"

	"mandate/provider/oauth"
	"mandate/provider/outbound"
)

// MaxBytes is how much of a metadata document is read (CIMD-02 §8.7).
const MaxBytes = 5 << 10

// maxMetadata is how many metadata documents are kept. One that was read takes about 5 KB.
const maxMetadata = 2000

// Metadata returns the kind of the metadata documents of clients. read checks a document and
// returns what it says; its error is the one that the developer of the client gets.
//
// CIMD-02 §5.2: neither an error nor an invalid document is kept.
func Metadata[T any](read func(url string, body []byte) (T, error)) Kind[T] {
	return Kind[T]{Name: "metadata documents", Accept: "application/json", MaxBytes: MaxBytes, MaxKept: maxMetadata,
		Explain: explain,
		Read: func(url string, document outbound.Document) (T, error) {
			// CIMD-02 §4: the document is JSON, with this media type or a more specific one.
			if !document.IsJSON() {
				var none T
				return none, Invalid("has no media type of JSON: serve it with Content-Type: application/json")
			}
			return read(url, document.Body)
		}}
}

// explain makes an *oauth.Error that names the document in the log. A client id that is a
// URL has no user information and no query, so it holds no secret.
func explain(url string, err error) error {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		e = unusable(err)
	}
	if e.Cause == nil {
		e.Cause = errors.New(url)
	} else {
		e.Cause = fmt.Errorf("%s: %w", url, e.Cause)
	}
	return e
}

// unusable says why a document could not be read. CIMD-02 §5.1: the authorization request
// fails then. The text says nothing about the network of this server: whether a name
// resolves and whether an address answers are one case. The log has the cause.
func unusable(err error) *oauth.Error {
	if status, ok := errors.AsType[*outbound.StatusError](err); ok && status.Status >= 300 && status.Status < 400 {
		return Invalid("has the status %d: redirects are not followed, so use the URL of the document itself as client_id",
			status.Status).Because(err)
	} else if ok {
		return Invalid("has the status %d: it must be 200", status.Status).Because(err)
	}
	if size, ok := errors.AsType[*outbound.SizeError](err); ok {
		return Invalid("is larger than %d bytes", size.Most).Because(err)
	}
	return oauth.Refuse("invalid_client", "This server could not fetch the metadata document of the client. Its host "+
		"must be on the internet, answer within 5 seconds, and have a valid certificate. The log of this server has the "+
		"reason.").Because(err)
}

// Invalid returns the error for a document that cannot be used. The problem completes a
// sentence about the document.
func Invalid(problem string, args ...any) *oauth.Error {
	return oauth.Refuse("invalid_client", "The metadata document at the URL that is the client_id "+problem+".", args...)
}
