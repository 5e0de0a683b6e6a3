package config

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"mandate/app/httpserve"
	"mandate/provider/loopback"
)

// check examines values alone and together, and derives the values that depend on
// others.
func (l *loader) check() {
	l.checkListen()
	l.checkTLS()
	l.checkBaseURL()
	l.checkMTLS()
	l.checkOps()
	l.checkDatabase()
	l.checkSecretKey()
	l.checkLoginURL()
	l.checkSignInServers()
	l.checkAttributes()
	l.checkPasswordHash()
	l.checkMail()
	l.checkBrand()
	l.checkSignUp()
	l.checkEditable()
	l.checkRules()
	l.checkUpstream()
	l.checkScopes()
	l.checkDefaultScopes()
	l.checkSampleScopes()
	l.checkLifetimes()
	l.checkResources()
	l.checkStatements()
	l.checkRefresh()
	l.checkRedirectSchemes()
	l.checkByAdministrator()
	l.checkOpenClients()
	l.checkOpenID()
	l.checkIntrospection()
	l.checkSigned()
	l.checkMetadata()
	l.checkBinding()
}

var urlPath = regexp.MustCompile(`^[A-Za-z0-9._~/-]*$`)

// checkBaseURL accepts one spelling only: clients compare the issuer character by
// character (RFC 8414 §3.3).
func (l *loader) checkBaseURL() {
	const name = "BASE_URL"
	if !l.ok(name) {
		return
	}
	if _, set := l.c.sources[name]; !set && l.ok("LISTEN") {
		l.c.BaseURL = l.reachedAt(l.c.BaseURL)
		if httpserve.IsSocket(l.c.Listen) && l.c.Upstream == "" {
			l.wrong("is required, because LISTEN is a socket: set it to the URL by which browsers reach the reverse proxy", name)
			return
		}
	}
	l.c.BaseURL = strings.TrimSuffix(l.c.BaseURL, "/")
	u, wrong := originURL(l.c.BaseURL)
	switch {
	case wrong != "":
		l.wrong(wrong, name)
	case strings.Contains(l.c.BaseURL, "?"):
		l.wrong("contains a query; remove everything from the ? on (RFC 8414 §2)", name)
	case !urlPath.MatchString(u.EscapedPath()), u.Path != "" && path.Clean(u.Path) != u.Path:
		l.wrong("has a path with //, dots or special characters; use letters, digits, -, _ and single slashes", name)
	case u.String() != l.c.BaseURL:
		l.wrong("has an unusual spelling; write the scheme in lower case", name)
	case l.c.TLSCertificateFile != "" && u.Scheme != "https":
		l.wrong(
			"is plain http, but LISTEN speaks TLS with TLS_CERTIFICATE_FILE; write https://, or remove TLS_CERTIFICATE_FILE "+
				"and TLS_KEY_FILE",
			name,
		)
	default:
		l.checkTransport(u, name, loopback.InBrowser)
	}
}

// reachedAt returns the URL at which this machine reaches LISTEN. It returns the
// fallback if the address is not one of a loopback interface, or if the system chooses
// the port.
func (l *loader) reachedAt(fallback string) string {
	scheme, omitted := "http", "80"
	if l.c.TLSCertificateFile != "" {
		scheme, omitted = "https", "443"
		fallback = strings.Replace(fallback, "http:", "https:", 1)
	}
	host, port, err := net.SplitHostPort(l.c.Listen)
	if err != nil || strings.Trim(port, "0") == "" {
		return fallback
	}
	addr, err := netip.ParseAddr(host)
	if host == "" || err == nil && addr.IsUnspecified() {
		host = "127.0.0.1"
	}
	if !loopback.Is(host) || addr.Zone() != "" {
		return fallback
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	// Browsers and clients leave the default port out (RFC 9110 §4.2.3).
	if port = strings.TrimLeft(port, "0"); port != omitted {
		host += ":" + port
	}
	return scheme + "://" + host
}

// These say how an address to bind is written.
const (
	listenForm = "must be host:port (127.0.0.1:8000, [::1]:8000, or :8000 for every address), " +
		"unix:/run/mandate.sock, or systemd"
	opsListenForm = "must be host:port (127.0.0.1:9000, or :9000 for every address)"
)

func (l *loader) checkListen() {
	if l.ok("LISTEN") && !httpserve.IsAddress(l.c.Listen) {
		l.wrong(listenForm, "LISTEN")
	}
}

// checkTLS does not read the files: other commands run as accounts that cannot.
func (l *loader) checkTLS() {
	const certificate, key = "TLS_CERTIFICATE_FILE", "TLS_KEY_FILE"
	switch {
	case !l.ok(certificate, key):
	case l.c.TLSCertificateFile != "" && l.c.TLSKeyFile == "":
		l.wrong("needs TLS_KEY_FILE, the private key of the certificate; set both, or remove this", certificate)
	case l.c.TLSCertificateFile == "" && l.c.TLSKeyFile != "":
		l.wrong("needs TLS_CERTIFICATE_FILE, the certificate of the key; set both, or remove this", key)
	}
}

func (l *loader) checkOps() {
	const ops, pprof = "OPS_LISTEN", "OPS_PPROF"
	switch {
	case !l.ok(ops, pprof, "LISTEN"):
	case l.c.OpsListen == "" && l.c.OpsPprof:
		l.wrong("has no listener: set OPS_LISTEN; LISTEN never serves profiles", pprof)
	case l.c.OpsListen == "":
	case !httpserve.IsAddress(l.c.OpsListen):
		l.wrong(opsListenForm, ops)
	case l.c.OpsListen == l.c.Listen:
		l.wrong("is the same as LISTEN, which everybody can reach; use another port", ops)
	}
}

// SQLitePath is the file of an SQLite database, or empty for PostgreSQL.
func (c *Config) SQLitePath() string {
	file, _ := strings.CutPrefix(c.Database.URL, "sqlite:///")
	if file == c.Database.URL {
		return ""
	}
	return file
}

func (l *loader) checkDatabase() {
	const name = "DATABASE_URL"
	if !l.ok(name) {
		return
	}
	l.checkListenURL()
	scheme, rest, _ := strings.Cut(l.c.Database.URL, "://")
	file := l.c.SQLitePath()
	u, err := url.Parse(l.c.Database.URL)
	switch {
	case scheme == "sqlite" && file == "":
		l.wrong("contains no file name; write sqlite:///file.db, or sqlite:////srv/file.db for an absolute path", name)
	case scheme == "sqlite" && strings.ContainsAny(rest, "?#%\x00"):
		l.wrong("takes no parameters and no file name with ?, # or %", name)
	case scheme == "sqlite" && (strings.Contains(file, ":memory:") || strings.HasSuffix(file, "/")):
		l.wrong("must be a file: a database in memory loses every session and token at a restart", name)
	case scheme == "sqlite":
	case scheme != "postgres" && scheme != "postgresql":
		l.wrong("must be sqlite:///file.db or postgres://user:password@host/database", name)
	default:
		l.checkPostgres(name, u, err, rest)
	}
}

func (l *loader) checkPostgres(name string, u *url.URL, err error, rest string) {
	switch {
	case err != nil:
		l.wrong("is not a URL; write special characters of the password as %XX", name)
	case u.Fragment != "" || strings.Contains(rest, "#"):
		l.wrong("contains a #; write it as %23", name)
	case strings.Trim(u.Path, "/") == "":
		l.wrong("contains no database name; write postgres://user:password@host/database", name)
	}
}

// checkListenURL accepts a PostgreSQL URL only: SQLite sends no notifications.
func (l *loader) checkListenURL() {
	const name = "DATABASE_LISTEN_URL"
	if !l.ok(name) || l.c.Database.ListenURL == "" {
		return
	}
	scheme, rest, _ := strings.Cut(l.c.Database.ListenURL, "://")
	u, err := url.Parse(l.c.Database.ListenURL)
	switch {
	case l.c.SQLitePath() != "":
		l.wrong("is for PostgreSQL only; remove it", name)
	case scheme != "postgres" && scheme != "postgresql":
		l.wrong("must be postgres://user:password@host/database", name)
	default:
		l.checkPostgres(name, u, err, rest)
	}
}

// checkSecretKey decodes the key. With PostgreSQL the key is required, since all
// nodes must share it.
func (l *loader) checkSecretKey() {
	const name = "SECRET_KEY"
	if !l.ok(name) {
		return
	}
	if l.c.SecretKey == "" {
		if l.ok("DATABASE_URL") && l.c.SQLitePath() == "" {
			l.wrong(
				"is required with PostgreSQL, the same on every node; set SECRET_KEY or SECRET_KEY_FILE to what `openssl rand "+
					"-base64 32` prints",
				name,
			)
		}
		return
	}
	key, err := base64.StdEncoding.DecodeString(l.c.SecretKey)
	if err != nil || len(key) != 32 {
		l.wrong("must be 32 random bytes in base64, as `openssl rand -base64 32` prints them", name)
		return
	}
	l.c.ServerKey = key
}

func (l *loader) checkLoginURL() {
	const name = "LOGIN_URL"
	target := l.c.LoginURL
	if !l.ok(name) || target == "" {
		return
	}
	if strings.HasPrefix(target, "/") {
		u, err := url.Parse(target)
		// Two slashes, or a backslash that browsers read as a slash, lead to
		// another host.
		if err != nil || u.Host != "" || strings.ContainsAny(target, "\\#") || strings.HasPrefix(target, "//") {
			l.wrong("must be a path that starts with a single slash and has no fragment", name)
		}
		return
	}
	u, wrong := originURL(target)
	if wrong != "" {
		l.wrong(wrong+", or give a path of this server (/login/)", name)
		return
	}
	l.checkTransport(u, name, loopback.InBrowser)
}

// leastHashWork is the least product of memory and passes in the OWASP password
// storage cheat sheet, which lists pairs of equal strength: from 47104 KiB with one
// pass to 7168 KiB with five.
const leastHashWork = 35840

func (l *loader) checkPasswordHash() {
	const memory, passes = "PASSWORD_HASH_MEMORY_KIB", "PASSWORD_HASH_ITERATIONS"
	if l.ok(memory, passes) && l.c.Hashing.MemoryKiB*l.c.Hashing.Iterations < leastHashWork {
		l.wrong(fmt.Sprintf(
			"%s times %s is below %d, which is too weak; raise one of them", memory, passes, leastHashWork,
		), memory, passes)
	}
}

// checkLifetimes: the idle time of a session or a refresh token is not longer than
// its lifetime.
func (l *loader) checkLifetimes() {
	const idle, age = "SESSION_IDLE_SECONDS", "SESSION_COOKIE_AGE"
	l.within(idle, age, &l.c.People.SessionIdle, l.c.People.SessionLifetime)
	const signed, access = providerBlock + "JWT_ACCESS_TOKEN_EXPIRE_SECONDS", providerBlock + "ACCESS_TOKEN_EXPIRE_SECONDS"
	l.within(signed, access, &l.c.Provider.JWTAccessTokenLifetime, l.c.Provider.AccessTokenLifetime)
	const refresh, absolute = providerBlock + "REFRESH_TOKEN_EXPIRE_SECONDS",
		providerBlock + "REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS"
	l.within(refresh, absolute, &l.c.Provider.RefreshTokenLifetime, l.c.Provider.RefreshTokenMaxLifetime)
}

// within lowers a lifetime that has its default to its limit, and refuses one that
// was set above the limit.
func (l *loader) within(name, bound string, value *time.Duration, most time.Duration) {
	_, set := l.c.sources[name]
	switch {
	case !l.ok(name, bound) || *value <= most:
	case set:
		l.wrong(
			fmt.Sprintf(
				"is longer than %s (%d); lower it or raise the other one", strings.TrimPrefix(bound, providerBlock),
				most/time.Second,
			),
			name,
		)
	default:
		*value = most
	}
}
