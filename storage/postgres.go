package storage

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq" // registers "postgres" too
)

// Config says where the database is and how much of it may be used.
type Config struct {
	URL            string // sqlite:///path (four slashes for an absolute one) or postgres://...
	ListenURL      string // by which PostgreSQL is listened to; empty: URL
	MaxConnections int    // to PostgreSQL; 0: 32
}

const defaultMaxConnections = 32

func openPostgres(c Config) (*Store, error) {
	address, q, err := driverURL(c.URL, "mandate")
	if err != nil {
		return nil, err
	}
	connector, err := pq.NewConnector(address)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{unhurried: &atomic.Bool{}, most: c.MaxConnections}
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
	// A pooler that gives each transaction another connection keeps no prepared
	// statements. With this parameter the driver needs none; then we make none.
	s.unprepared = q.Get("binary_parameters") == "yes"
	connector.Dialer(dialer{silence: silence, unhurried: s.unhurried})
	db := sqlx.NewDb(sql.OpenDB(connector), "postgres")
	db.SetMaxOpenConns(s.most)
	db.SetMaxIdleConns(s.most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	s.read, s.write = db, db
	return newStore(s), nil
}

// driverURL completes an address as the driver wants it. PostgreSQL shows its
// connections under a name.
func driverURL(address, name string) (string, url.Values, error) {
	// The text of either error would show the password. Parameters that cannot
	// be read must not be dropped: sslmode may be among them.
	notURL := errors.New("database URL is not a URL: postgres://user:password@host/name?sslmode=verify-full")
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, notURL
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", nil, notURL
	}
	if !q.Has("connect_timeout") {
		q.Set("connect_timeout", "5")
	}
	q.Set("fallback_application_name", name)
	// Of many servers one takes writes, and it may be another one tomorrow. A
	// connection to one that takes none would be of no use.
	if !q.Has("target_session_attrs") {
		q.Set("target_session_attrs", "read-write")
	}
	// The driver knows many hosts as parameters, but not each with its port.
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

// renew lets go of the connections that nobody uses: there are better ones. Where
// writes go, what others change is told of too.
func (s *Store) renew() {
	s.renewed.Add(1)
	s.write.SetMaxIdleConns(0)
	s.write.SetMaxIdleConns(s.most)
}
