package demo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/templates"
)

// exchange sends a request and records both messages. With a form it sends a POST
// request.
func (d *codeFlow) exchange(r *http.Request, step templates.WalkStep, path, authorization string, form url.Values, into any) error {
	method := http.MethodGet
	var lines []string
	if form != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(r.Context(), method, d.client.cast.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	if authorization != "" {
		lines = append(lines, "Authorization: "+authorization)
		request.Header.Set("Authorization", authorization)
	}
	if form != nil {
		lines = append(lines, "Content-Type: application/x-www-form-urlencoded", "", spread(form))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	browser := &http.Client{Timeout: 20 * time.Second}
	response, err := browser.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if into != nil {
		_ = json.Unmarshal(body, into) // the page shows the response
	}
	step.Request, step.Response = message(method, path, d.host, lines...), reply(response, body)
	d.steps = append(d.steps, step)
	return nil
}

func (c credentials) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.id+":"+c.secret))
}

func message(method, path, host string, lines ...string) string {
	return strings.Join(append([]string{method + " " + path + " HTTP/1.1", "Host: " + host}, lines...), "\n")
}

func reply(response *http.Response, body []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %s\n", response.Status)
	for _, name := range []string{"Content-Type", "Cache-Control", "WWW-Authenticate"} {
		if value := response.Header.Get(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return b.String() + "\n" + pretty(body)
}

// pretty indents JSON, and returns other text unchanged.
func pretty(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimSpace(text), "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// spread writes each parameter on a line of its own.
func spread(values url.Values) string {
	return strings.ReplaceAll(values.Encode(), "&", "\n  &")
}
