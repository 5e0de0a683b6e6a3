package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mandate/provider/redirect"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// outboundPatience is how long an address that somebody registered may take to
// answer, from the look-up of its name to the last byte.
const outboundPatience = 5 * time.Second

// notPublic is what is not somebody's server on the internet, by IANA's
// registries of special-purpose addresses (RFC 6890 §2.2.2 and what was added
// since), and Azure's host behind a public address. Of IPv6 only 2000::/3 is given out at all (RFC 4291 §2.4).
var notPublic = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

var (
	globalIPv6  = netip.MustParsePrefix("2000::/3")
	nat64Prefix = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052 §2.1
)

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// mayCall says whether the server may connect to an address that somebody
// registered: to the internet, and to what the operator allows.
func (c Config) mayCall(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64Prefix.Contains(a) {
		// The address behind the translator is the one that counts.
		whole := a.As16()
		a = netip.AddrFrom4([4]byte(whole[12:]))
	}
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.ContainsFunc(c.OutboundNetworks, within) {
		return true
	}
	return !slices.ContainsFunc(notPublic, within) && (a.Is4() || globalIPv6.Contains(a))
}

// newOutbound is the one client by which the server calls addresses that
// somebody registered. It looks at the address when it connects, after the name
// was resolved: a name may answer otherwise from one moment to the next. It
// follows no redirect, keeps no cookie and uses no proxy, which would look up the
// name itself.
func newOutbound(c Config) *http.Client {
	dialer := &net.Dialer{Timeout: outboundPatience, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !c.mayCall(at.Addr()) {
			return fmt.Errorf("%s is a special-use address, which OUTBOUND_ALLOWED_NETWORKS does not list", at.Addr())
		}
		return nil
	}}
	transport := http.RoundTripper(&http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: outboundPatience, MaxIdleConns: 100, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 16 << 10, ForceAttemptHTTP2: true})
	if c.TraceOutbound != nil {
		transport = c.TraceOutbound(transport)
	}
	return &http.Client{Timeout: outboundPatience, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// send posts a form and wants a 2xx. What is in the answer is nobody's business.
func (p *Provider) send(ctx context.Context, target string, form url.Values) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("User-Agent", "Mandate")
	response, err := p.outbound.Do(request)
	if err != nil {
		// The URL that url.Error would show may have a secret in its query.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return err
	}
	response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &answered{response.StatusCode}
	}
	return nil
}

// answered is that somebody did, otherwise than hoped for.
type answered struct{ status int }

func (a *answered) Error() string { return fmt.Sprintf("answered %d", a.status) }

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// checkOutboundURI says what is wrong with an address that the server is to
// call, or "".
func (c Config) checkOutboundURI(uri string, clientType string) string {
	if wrong := redirect.CheckText(uri); wrong != "" {
		return wrong
	}
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return "is not a URI"
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "must be an absolute URI that begins with https://"
	case u.Scheme == "http" && clientType == Public:
		// OIDC Back-Channel §2.2
		return "may begin with http:// for a confidential application only"
	case u.Port() != "" && !isPort(u.Port()):
		return "has a port that is none"
	case u.User != nil:
		return "must have no user name or password in it"
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761 §6.3
		host = "127.0.0.1"
	}
	literal, err := netip.ParseAddr(host)
	if err == nil && !c.mayCall(literal) {
		return "leads into a network that this server does not call: its operator can list it in OUTBOUND_ALLOWED_NETWORKS"
	}
	return ""
}
