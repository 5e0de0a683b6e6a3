package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mandate/conformance/bench/load"
)

// sampling is the number of answers of which one is parsed completely. All answers are checked.
const sampling = 64

func escape(text string) string { return url.QueryEscape(text) }

// narrowing returns the fields of a token request that say what the token is for.
func (t *target) narrowing() string {
	fields := ""
	if t.scope != "" {
		fields += "&scope=" + escape(t.scope)
	}
	if t.audience != "" {
		fields += "&resource=" + escape(t.audience)
	}
	return fields
}

// refused names a status that is no success, with the error code of RFC 6749 §5.2 if there is one.
func refused(r load.Response) string {
	if r.Status/100 == 2 {
		return ""
	}
	kind := "HTTP " + strconv.Itoa(r.Status)
	if code := field(r.Body, "error"); code != nil {
		kind += " " + string(code)
	}
	return kind
}

// field finds a string in a JSON object without parsing the rest. It does not support escapes, which do not occur in
// tokens and error codes.
func field(body []byte, name string) []byte {
	value, quoted := bytes.CutPrefix(after(body, name), []byte(`"`))
	end := bytes.IndexByte(value, '"')
	if !quoted || end < 0 {
		return nil
	}
	return value[:end]
}

// after returns what follows a name and its colon.
func after(body []byte, name string) []byte {
	for {
		i := bytes.Index(body, []byte(name))
		if i < 0 {
			return nil
		}
		found := i > 0 && body[i-1] == '"'
		body = body[i+len(name):]
		rest, closed := bytes.CutPrefix(body, []byte(`"`))
		rest, colon := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
		if found && closed && colon {
			return bytes.TrimLeft(rest, " \t\r\n")
		}
	}
}

// sample remembers tokens, to find duplicates.
type sample struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (s *sample) new(token []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if s.seen[string(token)] {
		return false
	}
	s.seen[string(token)] = true
	return true
}

// granted checks an answer of the token endpoint (RFC 6749 §5.1).
func granted(r load.Response, n int, seen *sample) (access []byte, wrong string) {
	wrong = refused(r)
	if wrong != "" {
		return nil, wrong
	}
	access = field(r.Body, "access_token")
	if len(access) == 0 {
		return nil, "200 without access_token"
	}
	if n%sampling != 0 {
		return access, ""
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	err := json.Unmarshal(r.Body, &answer)
	switch {
	case err != nil || answer.AccessToken != string(access) ||
		!bytes.EqualFold([]byte(answer.TokenType), []byte("bearer")) || answer.ExpiresIn <= 0:
		return nil, "200 with a response that violates RFC 6749 §5.1"
	case seen != nil && !seen.new(access):
		return nil, "the same token twice"
	}
	return access, ""
}

// issuer requests tokens by client credentials.
type issuer struct {
	request []byte
	seen    *sample
	n       int
	last    []byte
	keep    func(token string) // nil if nobody needs them
}

func (w *issuer) Next() []byte { return w.request }

func (w *issuer) Check(r load.Response) string {
	access, wrong := granted(r, w.n, w.seen)
	w.n++
	if wrong != "" {
		return wrong
	}
	if bytes.Equal(access, w.last) {
		return "the same token twice"
	}
	w.last = append(w.last[:0], access...)
	if w.keep != nil {
		w.keep(string(access))
	}
	return ""
}

// asker repeats the same requests.
type asker struct {
	requests [][]byte
	at, n    int
	active   bool   // an introspection of a valid token
	want     string // a name that the answer must contain
}

func (w *asker) Next() []byte {
	w.at = (w.at + 1) % len(w.requests)
	return w.requests[w.at]
}

func (w *asker) Check(r load.Response) string {
	if wrong := refused(r); wrong != "" {
		return wrong
	}
	if w.active && !bytes.HasPrefix(after(r.Body, "active"), []byte("true")) {
		return "a live token is reported as inactive"
	}
	w.n++
	if w.n%sampling != 1 {
		return ""
	}
	var object map[string]any
	err := json.Unmarshal(r.Body, &object)
	if err != nil {
		return "200 without a JSON object"
	}
	if _, found := object[w.want]; w.want != "" && !found {
		return "200 without " + w.want
	}
	if end, ok := object["exp"].(float64); w.active && ok && int64(end) < time.Now().Unix() {
		return "an expired token is reported as active"
	}
	return ""
}

// refresher uses the refresh token of the previous answer.
type refresher struct {
	form   load.Form
	fields []byte
	token  []byte
	spares chan string
	buf    []byte
	n      int
}

var refreshGrant = []byte("grant_type=refresh_token&refresh_token=")

func (w *refresher) Next() []byte {
	if len(w.token) == 0 {
		return nil
	}
	token := w.token
	if bytes.ContainsAny(token, "+/=%& ") {
		token = []byte(escape(string(token)))
	}
	w.buf = w.form.With(w.buf, refreshGrant, token, w.fields)
	return w.buf
}

func (w *refresher) Check(r load.Response) string {
	_, wrong := granted(r, w.n, nil)
	w.n++
	if wrong == "" {
		next := field(r.Body, "refresh_token")
		switch {
		case len(next) == 0:
			wrong = "200 without refresh_token"
		case bytes.Equal(next, w.token):
			wrong = "the refresh token was not rotated"
		}
		w.token = append(w.token[:0], next...)
	}
	if wrong != "" {
		// When the chain ends, the worker continues with another one, or ends.
		select {
		case spare := <-w.spares:
			w.token = []byte(spare)
		default:
			w.token = nil
		}
	}
	return wrong
}

// code is an authorization code with the values that redeem it.
type code struct{ value, verifier string }

type codePool struct {
	codes []code
	taken atomic.Int64
}

// redeemer takes codes from a pool that several workers share.
type redeemer struct {
	form load.Form
	rest []byte
	pool *codePool
	buf  []byte
	body []byte
	n    int
	seen *sample
}

func (w *redeemer) Next() []byte {
	i := int(w.pool.taken.Add(1)) - 1
	if i >= len(w.pool.codes) {
		return nil
	}
	return w.redeem(w.pool.codes[i])
}

func (w *redeemer) redeem(c code) []byte {
	w.body = fmt.Appendf(w.body[:0], "grant_type=authorization_code&code=%s&code_verifier=%s", c.value, c.verifier)
	w.buf = w.form.With(w.buf, w.body, w.rest)
	return w.buf
}

func (w *redeemer) Check(r load.Response) string {
	_, wrong := granted(r, w.n, w.seen)
	w.n++
	return wrong
}
