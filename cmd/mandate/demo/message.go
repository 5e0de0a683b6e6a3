package demo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/templates"
)

// request is a request of a site, or of another party, to the server.
type request struct {
	path, authorization string
	proof, accept       string // the headers DPoP and Accept
	form                url.Values
}

func (r request) method() string {
	if r.form != nil {
		return http.MethodPost
	}
	return http.MethodGet
}

// headers returns the headers that have a value.
func (r request) headers() []templates.Fact {
	all := []templates.Fact{{Name: "Authorization", Value: r.authorization}, {Name: "DPoP", Value: r.proof},
		{Name: "Accept", Value: r.accept}}
	if r.form != nil {
		all = append(all, templates.Fact{Name: "Content-Type", Value: "application/x-www-form-urlencoded"})
	}
	return slices.DeleteFunc(all, func(header templates.Fact) bool { return header.Value == "" })
}

// exchange sends a request and records both messages. With a form it sends a POST
// request. A string gets the body of the response, and another value its JSON.
func (d *codeFlow) exchange(r *http.Request, step templates.WalkStep, sent request, into any) error {
	out, err := http.NewRequestWithContext(r.Context(), sent.method(), d.client.cast.base+sent.path,
		strings.NewReader(sent.form.Encode()))
	if err != nil {
		return err
	}
	var lines []string
	for _, header := range sent.headers() {
		lines = append(lines, header.Name+": "+header.Value)
		out.Header.Set(header.Name, header.Value)
	}
	if sent.form != nil {
		lines = append(lines, "", spread(sent.form))
	}
	client := &http.Client{Timeout: 20 * time.Second}
	response, err := client.Do(out)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if text, is := into.(*string); is {
		*text = string(body)
	} else if into != nil {
		_ = json.Unmarshal(body, into) // the page shows the response
	}
	step.Request, step.Response = message(sent.method(), sent.path, d.host, lines...), reply(response, body)
	d.steps = append(d.steps, step)
	return nil
}

// last is the step that was recorded last.
func (d *codeFlow) last() *templates.WalkStep { return &d.steps[len(d.steps)-1] }

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
		for _, value := range response.Header.Values(name) {
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
