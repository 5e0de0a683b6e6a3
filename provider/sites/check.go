package sites

import (
	"context"
	"net/http"

	"mandate/provider/oauth"
)

// The families of reverse proxies, by how they describe a request.
const (
	Forward  = "forward" // Traefik, Caddy, HAProxy: X-Forwarded-*
	Original = "request" // nginx: X-Original-*
	Start    = "envoy"   // Envoy: the request itself, below a path
)

// Check decides about a request that a reverse proxy of a family describes. target is that of the request itself,
// without the path of the endpoint. Whatever is not well formed is refused.
func (p *Sites) Check(ctx context.Context, family string, r *http.Request, target string) (Decision, error) {
	var f Forwarded
	var err error
	switch family {
	case Forward:
		f, err = readForward(r.Header)
	case Original:
		f, err = readOriginal(r.Header)
	default:
		f, err = readStartLine(r.Header, r.Method, r.Host, target)
	}
	if err != nil {
		return Decision{}, notDescribed(family, err)
	}
	return p.Decide(ctx, f, CookieOf(f.Host, r.Header))
}

// notDescribed is the error for a description that is not well formed. It names the remedy, for the operator.
func notDescribed(family string, cause error) error {
	e := &oauth.Error{Status: http.StatusUnauthorized, Code: "invalid_request"}
	switch {
	case cause == errTwice:
		e.Status = http.StatusBadRequest
		e.Description = "A header that describes the request is there twice: let the reverse proxy replace what the " +
			"client has sent."
	case cause == errInsecure:
		e.Description = "The request came over http: let the reverse proxy redirect it to https, which the cookie needs."
	default:
		e.Description = "The reverse proxy must describe the request in " + described[family] + "."
	}
	return e
}

var described = map[string]string{
	Forward:  forwardedMethod + ", " + forwardedScheme + ", " + forwardedHost + " and " + forwardedTarget,
	Original: originalMethod + " and " + originalURL,
	Start:    "its request line, the header Host and " + forwardedScheme,
}
