package demo

import (
	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/templates"
)

// codeFlow is what the site does after one callback, step by step.
type codeFlow struct {
	*visit
	client    *Sites
	host      string
	steps     []templates.WalkStep
	published jose.JWKSet // the keys of the server, for a site with a profile
}

// tokenAnswer is the response of the token endpoint (RFC 6749 §5.1).
type tokenAnswer struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
}

// visit is what a site stores in a browser between the start and the callback.
type visit struct {
	site                   *webSite
	state, nonce, verifier string
	pushed                 pushed // if the site has a profile
}

// webSite is an application that people use with a browser.
type webSite struct {
	credentials
	name, wants, about string
	scope              string
	algorithm          string // of its ID tokens; if it is empty, the site gets none
	profile            string // the FAPI profile of the application, or ""
	keys               *proofKeys
}

type credentials struct{ id, secret string }

// secured reports whether a site has a profile, and signs whether it signs its messages too.
func (s *webSite) secured() bool { return s.profile != "" }

func (s *webSite) signs() bool { return s.profile == policy.ProfileMessages }
