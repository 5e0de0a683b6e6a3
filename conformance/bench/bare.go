package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"mandate/conformance/bench/process"
	"mandate/handlers/resource"
	"mandate/testkit/port"
)

// the driver "sqlite"

// The bare handlers show what net/http and database/sql cost without any decision. One inserts a row like a token's,
// with only a primary key; one selects such a row; one only answers. They run in a process of their own, like the
// server.

const bareRows = 10_000 // rows to select from

const bareInsert = `INSERT INTO tokens (digest, application_id, scope, issued_at, expires_at)
	VALUES ($1, $2, $3, $4, $5)`

// serveBare is the hidden command that serves them.
func serveBare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	listen := flags.String("listen", "", "")
	err := flags.Parse(args)
	if err != nil {
		return err
	}
	var told bareOptions
	err = json.NewDecoder(os.Stdin).Decode(&told)
	if err != nil {
		return err
	}
	b := &bare{}
	err = b.open(ctx, told.Database)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /insert", b.insertRow)
	mux.HandleFunc("GET /select", b.selectRow)
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { give(w, fixed) })
	mux.Handle("GET /fixed", answer)
	if told.Key != nil {
		verify, err := verifier(told.Key, answer)
		if err != nil {
			return err
		}
		mux.Handle("GET /verify", verify)
	}
	if told.Introspect != "" {
		guarded, err := told.guard(answer)
		if err != nil {
			return err
		}
		mux.Handle("GET /guarded", guarded)
	}
	server := &http.Server{Addr: *listen, Handler: mux}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	err = server.ListenAndServe()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// bareOptions are passed by standard input, because they contain secrets.
type bareOptions struct {
	Database   string
	Introspect string         // URL; without one nothing is guarded
	API        client         // client that introspects there
	URL        string         // of these handlers; a DPoP proof is for it
	Key        map[string]any // the public key of the proofs that are verified
}

// guard puts the resource server library in front of a handler, as a service would.
func (y bareOptions) guard(h http.Handler) (http.Handler, error) {
	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{URL: y.Introspect, ClientID: y.API.ID,
		ClientSecret: y.API.Secret})
	if err != nil {
		return nil, err
	}
	cache, err := resource.NewCache(resource.CacheConfig{Verifier: introspection, TTL: resource.DefaultCacheTTL})
	if err != nil {
		return nil, err
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: cache, BaseURLs: []string{y.URL}})
	if err != nil {
		return nil, err
	}
	return guard.Require(h, "read"), nil
}

// verifier verifies the signature of a DPoP proof by one known key, and nothing else of it.
func verifier(jwk map[string]any, h http.Handler) (http.Handler, error) {
	var point []byte
	for _, name := range []string{"x", "y"} {
		text, _ := jwk[name].(string)
		half, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		point = append(point, half...)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, point...))
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proof := r.Header.Get("DPoP")
		end := strings.LastIndexByte(proof, '.')
		sum := sha256.Sum256([]byte(proof[:max(end, 0)]))
		signature, err := base64.RawURLEncoding.DecodeString(proof[end+1:])
		// RFC 7518 §3.4: the two numbers of the signature, of 32 bytes each.
		if err != nil || len(signature) != 64 ||
			!ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}), nil
}

type bare struct{ insert, find *sql.Stmt }

// open creates the table and its rows. SQLite gets one connection that writes, because it has one writer.
func (b *bare) open(ctx context.Context, address string) error {
	driver, source, writers, readers := "postgres", address, 32, 32
	if path, found := strings.CutPrefix(address, "sqlite:///"); found {
		driver, writers, readers = "sqlite", 1, 8
		source = "file:" + (&url.URL{Path: path}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	}
	write, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	write.SetMaxOpenConns(writers)
	write.SetMaxIdleConns(writers)
	read := write
	if readers != writers {
		read, err = sql.Open(driver, source)
		if err != nil {
			return err
		}
		read.SetMaxOpenConns(readers)
		read.SetMaxIdleConns(readers)
	}
	_, err = write.ExecContext(ctx, `CREATE TABLE tokens (digest TEXT PRIMARY KEY, application_id TEXT NOT NULL,
		scope TEXT NOT NULL, issued_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)`)
	if err != nil {
		return err
	}
	all, err := write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer all.Rollback() // a no-op after Commit
	for n := range bareRows {
		_, err = all.ExecContext(ctx, bareInsert, fmt.Sprint(n), "application", "read write", 0, 1<<40)
		if err != nil {
			return err
		}
	}
	err = all.Commit()
	if err != nil {
		return err
	}
	b.insert, err = write.PrepareContext(ctx, bareInsert)
	if err != nil {
		return err
	}
	b.find, err = read.PrepareContext(ctx, `SELECT application_id, scope, issued_at, expires_at FROM tokens
		WHERE digest = $1`)
	return err
}

func (b *bare) insertRow(w http.ResponseWriter, r *http.Request) {
	token := rand.Text()
	sum := sha256.Sum256([]byte(token))
	at := time.Now().Unix()
	_, err := b.insert.ExecContext(r.Context(), base64.RawURLEncoding.EncodeToString(sum[:]), "application", "read write",
		at, at+36000)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	give(w, []byte(`{"access_token":"`+token+`","token_type":"Bearer","expires_in":36000}`))
}

type bareRow struct {
	Application string `json:"client_id"`
	Scope       string `json:"scope"`
	IssuedAt    int64  `json:"iat"`
	ExpiresAt   int64  `json:"exp"`
	Active      bool   `json:"active"`
}

func (b *bare) selectRow(w http.ResponseWriter, r *http.Request) {
	row := bareRow{Active: true}
	err := b.find.QueryRowContext(r.Context(), r.URL.RawQuery).Scan(&row.Application, &row.Scope, &row.IssuedAt,
		&row.ExpiresAt)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, _ := json.Marshal(row) // it cannot fail
	give(w, text)
}

var fixed = []byte(`{"client_id":"application","sub":"application","scope":["read","write"]}`)

func give(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have gone
}

// bareServer is the process of the bare handlers.
type bareServer struct {
	process *process.Child
	url     string
}

// startBare runs this program again.
func startBare(ctx context.Context, dir string, told bareOptions) (*bareServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port.Free())
	cmd := exec.Command(self, bareCommand, "--listen", address)
	told.URL = "http://" + address
	text, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	cmd.Stdin = bytes.NewReader(text)
	p, err := process.Start(cmd, dir)
	if err != nil {
		return nil, err
	}
	y := &bareServer{p, told.URL}
	err = p.Wait("the bare handlers answer", time.Minute, 10*time.Millisecond, func() bool {
		return ctx.Err() != nil || answers(y.url+"/fixed", http.StatusOK)
	})
	if err != nil {
		p.End()
		return nil, err
	}
	return y, ctx.Err()
}

// answers reports whether an address answers with a status.
func answers(address string, status int) bool {
	r, err := http.Get(address)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, r.Body) // only the status matters
	r.Body.Close()
	return r.StatusCode == status
}
