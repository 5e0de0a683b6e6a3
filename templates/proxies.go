package templates

import (
	"bytes"
	"embed"
	"fmt"
	"net"
	"slices"
	"strings"
)

// proxyFiles holds the configurations of reverse proxies in front of a site. docs/forward-auth.md has the same ones,
// which the tests of conformance/mandate run.
//
//go:embed proxies/*.txt
var proxyFiles embed.FS

// The addresses of the examples, which the reader replaces.
const (
	exampleServer  = "http://127.0.0.1:8000"
	exampleProgram = "http://127.0.0.1:9000"
)

// proxyValues are what a configuration contains of a site.
type proxyValues struct {
	Hosts, Names, Ports []string // as they are registered, their names, and their ports
	At                  string   // what nginx writes for the host of a request, with its port
	Base                string   // the path of this server
	Server, Program     string
	ServerAt, ProgramAt string // the same without their scheme
}

// Proxies returns the configuration of each reverse proxy for a site with these hosts.
func (p *Pages) Proxies(hosts []string) ([]Snippet, error) {
	values := proxyValues{Hosts: hosts, At: "$host", Base: p.base, Server: exampleServer, Program: exampleProgram,
		ServerAt: strings.TrimPrefix(exampleServer, "http://"), ProgramAt: strings.TrimPrefix(exampleProgram, "http://")}
	for _, host := range hosts {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = host, "443"
		} else {
			values.At = "$host:$server_port" // a port that the browser leaves out is added, which means the same
		}
		values.Names, values.Ports = append(values.Names, name), append(values.Ports, port)
	}
	for _, list := range []*[]string{&values.Names, &values.Ports} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	var found []Snippet
	for _, proxy := range []struct{ id, name string }{{"nginx", "nginx"}, {"caddy", "Caddy"},
		{"haproxy", "HAProxy"}, {"haproxy-lua", "HAProxy: /etc/haproxy/mandate.lua"}} {
		var b bytes.Buffer
		err := p.snippets.ExecuteTemplate(&b, "proxy-"+proxy.id+".txt", values)
		if err != nil {
			return nil, fmt.Errorf("render the configuration of %s: %w", proxy.name, err)
		}
		found = append(found, Snippet{ID: "proxy-" + proxy.id, Language: proxy.name, Code: strings.TrimSpace(b.String())})
	}
	return found, nil
}
