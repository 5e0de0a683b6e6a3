package checkup

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// ArrivalPath answers a question of a check, and nobody else's.
const ArrivalPath = "/o/arrival/"

// QuestionHeader has the question, which is sealed under the key of the installation, as the answer is: others could
// learn from it which addresses the network has.
const QuestionHeader = "Mandate-Question"

// ClaimedAddress is the address that the question claims to come from. It is kept for documents (RFC 5737 §3), so no
// proxy has it.
const ClaimedAddress = "192.0.2.99"

// forwarded checks that the server learns the addresses of people, and that nobody chooses theirs.
func (s Site) forwarded(ctx context.Context) Finding {
	wrong := Finding{Check: "forwarded", Weight: Doubtful, About: s.BaseURL + ArrivalPath}
	question, read := s.Question()
	a := s.ask(ctx, http.MethodGet, ArrivalPath, QuestionHeader, question, "X-Forwarded-For", ClaimedAddress)
	var body struct {
		Arrival string `json:"arrival"`
	}
	if a.err != nil || a.StatusCode != http.StatusOK || json.Unmarshal(a.body, &body) != nil {
		wrong.Text = "The server does not say from where the request has reached it."
		wrong.Remedy = "Restart mandate serve with this version and this SECRET_KEY, and let the proxy pass the header " +
			QuestionHeader + " on."
		return wrong
	}
	at, err := read(body.Arrival)
	if err != nil {
		wrong.Text, wrong.Remedy = "The answer of the server cannot be read: "+err.Error(),
			"Restart mandate serve with this SECRET_KEY."
		return wrong
	}
	return s.judge(at, wrong)
}

func (s Site) judge(at Arrival, wrong Finding) Finding {
	const add = "Let the proxy add the address of the client: proxy_set_header X-Forwarded-For " +
		"$proxy_add_x_forwarded_for in nginx. Apache and Caddy do so by themselves."
	unchanged := at.Forwarded == ClaimedAddress
	switch {
	case unchanged && at.Trusted:
		wrong.Weight, wrong.Text = Wrong, "X-Forwarded-For arrives as the client has sent it, from "+at.Peer+
			", which TRUSTED_PROXIES has: whoever sends it chooses their address, and has no limit on guesses."
		wrong.Remedy = add + " If no proxy is there, remove the address from TRUSTED_PROXIES."
	case at.Chosen:
		wrong.Weight, wrong.Text = Wrong, "TRUSTED_PROXIES has networks that are too wide: even "+ClaimedAddress+
			" is in one, which nobody has. Whoever sends X-Forwarded-For chooses their address, and has no limit on guesses."
		wrong.Remedy = "Set TRUSTED_PROXIES to the addresses of the proxies alone, such as " + at.Peer + "."
	case at.Forwarded != "" && !unchanged && !at.Trusted:
		wrong.Text, wrong.Remedy = "The proxy at "+at.Peer+" sends X-Forwarded-For, and TRUSTED_PROXIES does not have it: "+
			"the limits on guesses count all people together.", "Add "+at.Peer+" to TRUSTED_PROXIES."
	// The question has the header, so only a proxy can have removed it.
	case at.Forwarded == "", unchanged && strings.HasPrefix(s.BaseURL, "https:") && !at.TLS:
		wrong.Text, wrong.Remedy = "The proxy at "+at.Peer+" does not add the address of the client to X-Forwarded-For: "+
			"the limits on guesses count all people together.", add+" Then add "+at.Peer+" to TRUSTED_PROXIES."
	default:
		return fine("forwarded", "The server learns the address of the client.")
	}
	return wrong
}
