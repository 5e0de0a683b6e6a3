package checkup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Site is a server to look at.
type Site struct {
	BaseURL string // without a slash at its end
	OpenID  bool
	KeyIDs  []string // those that the database publishes; none: they are not compared
	// Question makes a question for the server, and reads the answer. nil: the server is not asked.
	Question func() (question string, read func(answer string) (Arrival, error))
	// Client calls nothing but the base URL. It follows no redirect, and limits time and size.
	Client *http.Client
	Now    func() time.Time
}

// Arrival is what the server says about a request of a check that has reached it.
type Arrival struct {
	Peer      string // the address at the other end of the connection
	Trusted   bool   // TRUSTED_PROXIES has it
	Forwarded string // the last address of X-Forwarded-For; empty: there is none
	Chosen    bool   // the server takes ClaimedAddress for that of the client, because TRUSTED_PROXIES has even this one
	TLS       bool
}

// most is how many bytes of a response are read.
const most = 256 << 10

// Body is how much a Client must let through.
const Body = most + 1

// answer is a response, or the reason why there is none.
type answer struct {
	*http.Response
	body []byte
	err  error
}

// ask sends one request to a path of the server.
func (s Site) ask(ctx context.Context, method, path string, header ...string) answer {
	r, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, nil)
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("User-Agent", "Mandate doctor")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.Client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil && len(body) > most {
		err = fmt.Errorf("the response has more than %d bytes", most)
	}
	return answer{response, body, err}
}

// isJSON reports whether the header of a response says that it is JSON.
func isJSON(header http.Header) bool {
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}
