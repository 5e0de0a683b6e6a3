package storage

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq" // registers "postgres" too
)

// Config is the address of the database and the limit of connections to it.
type Config struct {
	// URL is `sqlite:///file.db` (relative to the working directory), `sqlite:////srv/file.db` (absolute) or
	// `postgres://user:password@host/database?sslmode=verify-full`.
	//
	// Several PostgreSQL hosts are separated by commas (`host1:5432,host2:5432`): the server uses the one that accepts
	// writes.
	URL string `key:"DATABASE_URL" default:"sqlite:///mandate.db" secret:"url" subject:"Database and key"`
	// ListenURL is the PostgreSQL URL by which a node receives notifications about changes that other nodes make.
	//
	// It is needed if `DATABASE_URL` leads to a pooler that gives each transaction another connection. If it is empty,
	// `DATABASE_URL` is used.
	ListenURL string `key:"DATABASE_LISTEN_URL" default:"" secret:"url"`
	// MaxConnections is the largest number of PostgreSQL connections that a node opens, besides the one that receives
	// notifications.
	MaxConnections int `key:"DATABASE_MAX_CONNECTIONS" default:"32" min:"2" max:"1000"`
}

const defaultMaxConnections = 32

func openPostgres(c Config) (*Store, error) {
	address, q, err := driverURL(c.URL, "mandate")
	if err != nil {
		return nil, err
	}
	_, err = pq.NewConnector(address)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{noReadTimeout: &atomic.Bool{}, most: c.MaxConnections}
	if c.ListenURL == "" {
		c.ListenURL = c.URL
	}
	s.url, _, err = driverURL(c.ListenURL, "mandate, listening")
	if err != nil {
		return nil, err
	}
	if s.most <= 0 {
		s.most = defaultMaxConnections
	}
	// Some poolers give each transaction another connection, so prepared statements are
	// lost. With this parameter the driver prepares none, and neither does this package.
	s.noPreparedStatements = q.Get("binary_parameters") == "yes"
	s.connector = &durableConnector{address, s.noReadTimeout}
	db := sqlx.NewDb(sql.OpenDB(s.connector), "postgres")
	db.SetMaxOpenConns(s.most)
	db.SetMaxIdleConns(s.most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	s.read, s.write = db, db
	return newStore(s), nil
}

// driverURL adds the parameters that the driver needs to an address. name is the
// application name that PostgreSQL shows for the connections.
func driverURL(address, name string) (string, url.Values, error) {
	// The text of both errors would show the password. Unreadable parameters must not be
	// dropped, because sslmode may be among them.
	notURL := errors.New("the database URL is not a URL: write postgres://user:password@host/name?sslmode=verify-full")
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, notURL
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", nil, notURL
	}
	err = removeForeign(q)
	if err != nil {
		return "", nil, err
	}
	if !q.Has("connect_timeout") {
		q.Set("connect_timeout", "5")
	}
	q.Set("fallback_application_name", name)
	// Of several servers only the primary accepts writes, and the primary may change. A
	// connection to a read-only server would be useless.
	if !q.Has("target_session_attrs") {
		q.Set("target_session_attrs", "read-write")
	}
	// The driver accepts several hosts only as parameters, and does not split host and
	// port.
	if hosts := strings.Split(u.Host, ","); len(hosts) > 1 {
		ports := make([]string, len(hosts))
		for i, at := range hosts {
			host, port, err := net.SplitHostPort(at)
			if err != nil {
				host, port = strings.Trim(at, "[]"), ""
			}
			hosts[i], ports[i] = host, port
			if port == "" {
				ports[i] = "5432"
			}
		}
		u.Host = ""
		q.Set("host", strings.Join(hosts, ","))
		if !q.Has("port") {
			q.Set("port", strings.Join(ports, ","))
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), q, nil
}

// foreign lists parameters of other drivers, which providers put into the addresses that they show. The driver would
// send them to the server, which refuses them. Those without a remedy change nothing here, so they are removed.
var foreign = []struct {
	name     string
	harmless []string // values that change nothing; none: every value
	remedy   string
}{
	{"channel_binding", []string{"disable", "prefer"}, "this program has no channel binding: remove the parameter, and " +
		"set sslmode=verify-full, with which the server must prove its name"},
	{"gssencmode", []string{"disable", "prefer"}, "this program does not encrypt by GSSAPI: remove the parameter, and " +
		"set sslmode=verify-full"},
	{"pool_max_conns", []string{}, "it is for another program: remove the parameter, and set DATABASE_MAX_CONNECTIONS"},
	{"pool_min_conns", nil, ""}, {"pool_max_conn_lifetime", nil, ""}, {"pool_max_conn_lifetime_jitter", nil, ""},
	{"pool_max_conn_idle_time", nil, ""}, {"pool_health_check_period", nil, ""},
	{"keepalives", nil, ""}, {"keepalives_idle", nil, ""}, {"keepalives_interval", nil, ""}, {"keepalives_count", nil, ""},
	{"tcp_user_timeout", nil, ""}, {"sslcompression", nil, ""},
	{"pgbouncer", nil, ""},
}

// ErrParameter begins the error about a parameter of another driver, which says what to change.
var ErrParameter = errors.New("the parameter")

// removeForeign removes the parameters of other drivers that change nothing, and names one that does.
func removeForeign(q url.Values) error {
	for _, p := range foreign {
		value := q.Get(p.name)
		if q.Has(p.name) && p.harmless != nil && !slices.Contains(p.harmless, value) {
			return fmt.Errorf("%w %s of the database URL has no effect here: %s", ErrParameter, p.name, p.remedy)
		}
		q.Del(p.name)
	}
	return nil
}

// renew closes the idle connections, so that new ones reach the current primary. Listen
// notices the renewal and ends, because notifications are sent by the primary.
func (s *Store) renew() {
	s.renewed.Add(1)
	s.write.SetMaxIdleConns(0)
	s.write.SetMaxIdleConns(s.most)
}
