package demo

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// What a client of the Model Context Protocol may send besides the calls of a tool, which conformance/mandate tests
// with the clients of others.
func TestMCPMessages(t *testing.T) {
	for _, test := range []struct{ method, kind, body, want string }{
		{"GET", "", "", "405 "},
		{"POST", "text/plain", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "415 "},
		{"POST", "application/json", `{`, "400 "},
		{"POST", "application/json", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "400 "},
		{"POST", "application/json", `{"id":1,"method":"` + strings.Repeat("x", maxMessage) + `"}`, "413 "},
		{"POST", "application/json", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "202 "},
		{
			"POST",
			"application/json; charset=utf-8",
			`{"jsonrpc":"2.0","id":"a","method":"ping"}`,
			`200 {"jsonrpc":"2.0","id":"a","result":{}}`,
		},
		{
			"POST", "application/json", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
			`200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`,
		},
		{
			"POST", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`,
			`200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: no_such"}}`,
		},
	} {
		r := httptest.NewRequest(test.method, mcpPath, strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		w := httptest.NewRecorder()
		m, status := readMessage(r)
		new(Tools).write(w, r, m, status)
		if got := strconv.Itoa(w.Code) + " " + strings.TrimSpace(w.Body.String()); got != test.want {
			t.Errorf("%s %.80s: %s", test.method, test.body, got)
		}
	}
	for asked, want := range map[string]string{"2025-06-18": "2025-06-18", "2026-07-28": versions[0]} {
		var m rpc
		m.Method, m.Params.ProtocolVersion = "initialize", asked
		got, _ := new(Tools).result(t.Context(), m)
		if version := got.(map[string]any)["protocolVersion"]; version != want {
			t.Errorf("%s: %v", asked, version)
		}
	}
}
