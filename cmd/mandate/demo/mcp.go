package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mandate/handlers/resource"
	"mandate/provider"
)

// mcpPath is the path of the MCP server, whose URL is its resource indicator (RFC 8707).
const mcpPath = "/mcp"

// maxMessage is the size of the largest message that the MCP server reads, in bytes.
const maxMessage = 64 << 10

// Tools is the MCP server of the demo (Model Context Protocol, 2026-07-28). Its guard
// introspects tokens over HTTP, as it would in any other process. A client needs only the
// URL: the challenge of the guard leads it to the rest.
type Tools struct {
	provider *provider.Provider
	paths    []string // mcpPath, and that of the guard's metadata (RFC 9728 §3)
	handler  http.Handler
}

// fillMCP registers the MCP server as a resource, and the application that introspects
// its tokens.
func (c *Cast) fillMCP(ctx context.Context) error {
	var err error
	c.tools, err = c.fillApplication(ctx, provider.Registration{Name: "MCP server", GrantTypes: []string{provider.GrantClient}})
	if err == nil {
		_, err = c.provider.Resources.Add(ctx, provider.Operator(), provider.ResourceRegistration{URI: c.base + mcpPath, Name: "Demo tools",
			Scopes: []string{"read", "write"}, Introspectors: []string{c.tools.id}})
	}
	return err
}

// NewTools returns the MCP server of a demo that Fill has filled.
func NewTools(cast *Cast, log *slog.Logger) (*Tools, error) {
	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{URL: cast.issuer + "/introspect/", ClientID: cast.tools.id, ClientSecret: cast.tools.secret})
	if err != nil {
		return nil, err
	}
	cache, err := resource.NewCache(resource.CacheConfig{Verifier: introspection, TTL: time.Second})
	if err != nil {
		return nil, err
	}
	// Scripts of every site may call it, because agents run in browsers too.
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: cache, Realm: "mcp", Audience: cast.base + mcpPath, AuthorizationServers: []string{cast.issuer},
		Name: "Demo tools", AllowedOrigins: []string{"*"}, Logger: log})
	if err != nil {
		return nil, err
	}
	metadata, err := url.Parse(guard.MetadataURL())
	if err != nil {
		return nil, err
	}
	t := &Tools{provider: cast.provider, paths: []string{mcpPath, metadata.Path}}
	// A new server for each request knows the token of this request.
	stream := mcp.NewStreamableHTTPHandler(t.server, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage})
	reads, writes := guard.Require(stream, "read"), guard.Require(stream, "read", "write")
	t.handler = guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// RFC 6750 §3.1: the guard names the scopes that this call needs, so that the client can ask for them.
		if callsWriter(r) {
			writes.ServeHTTP(w, r)
		} else {
			reads.ServeHTTP(w, r)
		}
	}))
	return t, nil
}

// Before serves the MCP server and its metadata, and passes other requests to the server.
func (t *Tools) Before(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(t.paths, strings.TrimSuffix(r.URL.Path, "/")) {
			t.handler.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}

// writer is the tool that changes something.
const writer = "add_person"

// callsWriter reports whether a request calls the writer. The body is read, and can be
// read again.
func callsWriter(r *http.Request) bool {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxMessage+1))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	var message struct {
		Method string
		Params struct{ Name string }
	}
	return err == nil && json.Unmarshal(body, &message) == nil && message.Method == "tools/call" && message.Params.Name == writer
}

// server returns the tools for the token of a request.
func (t *Tools) server(r *http.Request) *mcp.Server {
	token, known := resource.FromContext(r.Context())
	if !known {
		return nil
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "mandate-demo", Title: "Demo tools", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "who_am_i", Description: "Says for whom the access token acts, and what it allows (scope read)."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, identity, error) {
			return nil, identity{token.Username, token.ClientID, token.Scope}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "list_people", Description: "Lists the people of the demo (scope read)."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, people, error) {
			users, _, err := t.provider.People.Users(ctx, "", 100, 0)
			var names people
			for _, u := range users {
				names.Usernames = append(names.Usernames, u.Username)
			}
			return nil, names, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: writer, Description: "Adds a person to the demo (scopes read and write)."},
		func(ctx context.Context, _ *mcp.CallToolRequest, asked newcomer) (*mcp.CallToolResult, people, error) {
			// The guard has required the scope already, unless it and this library read the message differently.
			if !token.HasScope("write") {
				return nil, people{}, errors.New("the access token does not have the scope write")
			}
			u, err := t.provider.People.AddUser(ctx, provider.Actor{}, provider.Person{Username: asked.Username, Password: newPassword()})
			return nil, people{[]string{u.Username}}, err
		})
	return s
}

// The arguments and results of the tools.
type (
	identity struct {
		Username string   `json:"username,omitempty" jsonschema:"the person who approved the access"`
		ClientID string   `json:"client_id" jsonschema:"the client to which the token was issued"`
		Scope    []string `json:"scope" jsonschema:"what the token allows"`
	}
	people struct {
		Usernames []string `json:"usernames"`
	}
	newcomer struct {
		Username string `json:"username" jsonschema:"the name of the new person"`
	}
)
