package resource_test

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"

	"mandate/handlers/resource"
	"mandate/provider/dpop"
	"mandate/provider/jose"
)

// authorizationServer starts a replacement for a real introspection endpoint.
func authorizationServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("token") == "anns-token" {
			io.WriteString(w, `{"active":true,"username":"ann","scope":"read","token_type":"Bearer"}`)
			return
		}
		io.WriteString(w, `{"active":false}`)
	}))
}

// A service protects its handlers. It creates the three parts once, and then names the
// scopes of each route.
func Example() {
	as := authorizationServer()
	defer as.Close()

	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{
		URL:          as.URL + "/o/introspect/",
		ClientID:     "photos",
		ClientSecret: "from-your-secret-store",
	})
	if err != nil {
		log.Fatal(err)
	}
	cache, err := resource.NewCache(resource.CacheConfig{Verifier: introspection, TTL: resource.DefaultCacheTTL})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: cache, Realm: "photos", Logger: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}

	list := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := resource.FromContext(r.Context())
		fmt.Fprintf(w, "photos of %s", token.Username)
	})
	upload := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	mux := http.NewServeMux()
	mux.Handle("GET /photos", guard.Require(list, "read"))
	mux.Handle("POST /photos", guard.Require(upload, "write"))

	for _, method := range []string{"GET", "POST"} {
		r := httptest.NewRequest(method, "/photos", nil)
		r.Header.Set("Authorization", "Bearer anns-token")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 photos of ann
	// 403 {"detail":"You do not have permission to perform this action."}
}

// A service checks signed access tokens itself. It sets their issuer and their
// audience, and fetches the keys when the first token arrives.
func ExampleSigned() {
	signed, err := resource.NewSigned(resource.SignedConfig{
		KeysURL:  "https://auth.example.com/o/.well-known/jwks.json",
		Issuer:   "https://auth.example.com/o",
		Audience: "https://auth.example.com",
	})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: signed})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/photos", nil)
	r.Header.Set("Authorization", "Bearer not-a-signed-token")
	w := httptest.NewRecorder()
	guard.Require(http.NotFoundHandler(), "read").ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer realm="api", error="invalid_token", error_description="The access token is invalid, expired or revoked"
}

// A proxy protects an API that does not check tokens.
func ExampleProxy() {
	as := authorizationServer()
	defer as.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s as %s", r.URL.Path, r.Header.Get("X-Token-Username"))
	}))
	defer api.Close()

	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{URL: as.URL, AuthToken: "ours"})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: introspection})
	if err != nil {
		log.Fatal(err)
	}
	upstream, err := url.Parse(api.URL)
	if err != nil {
		log.Fatal(err)
	}
	proxy, err := resource.NewProxy(resource.ProxyConfig{
		Upstream: upstream,
		Guard:    guard,
		Rules: []resource.Rule{
			{Path: "/healthz", Methods: []string{"GET"}, Public: true},
			{Path: "/users", Methods: []string{"GET"}, Scopes: []string{"read"}},
			{Path: "/users", Methods: []string{"POST"}, Scopes: []string{"write"}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	r := httptest.NewRequest("GET", "/users/7", nil)
	r.Header.Set("Authorization", "Bearer anns-token")
	w := httptest.NewRecorder()
	proxy.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 200 /users/7 as ann
}

// An API describes itself, so that a client that knows only its URL finds the authorization
// server (RFC 9728). Scripts of one site may call it.
func ExampleGuard_Wrap() {
	as := authorizationServer()
	defer as.Close()
	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{URL: as.URL + "/o/introspect/",
		ClientID: "photos", ClientSecret: "from-your-secret-store"})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{
		Verifier:             introspection,
		Audience:             "https://photos.example/v1",
		AuthorizationServers: []string{"https://auth.example/o"},
		AllowedOrigins:       []string{"https://app.example"},
	})
	if err != nil {
		log.Fatal(err)
	}
	list := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	mux := http.NewServeMux()
	mux.Handle("GET /v1/photos", guard.Require(list, "read"))
	api := guard.Wrap(mux)

	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/v1/photos", nil))
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	w = httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/oauth-protected-resource/v1", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// 401 Bearer realm="api", scope="read", resource_metadata="https://photos.example/.well-known/oauth-protected-resource/v1"
	// 200 {"resource":"https://photos.example/v1","authorization_servers":["https://auth.example/o"],"scopes_supported":["read"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256","EdDSA","Ed25519","PS256"]}
}

// An API requires tokens that are bound to a key of the client. The client makes a proof for each
// request.
func ExampleGuardConfig_requiredBinding() {
	key, err := jose.Generate("EC")
	if err != nil {
		log.Fatal(err)
	}
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		log.Fatal(err)
	}
	as := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"active":true,"username":"ann","scope":"read","token_type":"DPoP","cnf":{"jkt":"%s"}}`,
			public.Thumbprint())
	}))
	defer as.Close()
	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{URL: as.URL, AuthToken: "ours"})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: introspection,
		BaseURLs: []string{"https://photos.example"}, RequiredBinding: "dpop"})
	if err != nil {
		log.Fatal(err)
	}
	photos := guard.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "photos") }),
		"read")

	r := httptest.NewRequest("GET", "/photos?page=2", nil)
	proof, err := dpop.Make("ES256", key,
		map[string]any{"htm": "GET", "htu": "https://photos.example/photos", "ath": dpop.TokenHash("anns-token")})
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Authorization", "DPoP anns-token")
	r.Header.Set("DPoP", proof)
	for range 2 {
		w := httptest.NewRecorder()
		photos.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 photos
	// 401 {"detail":"The DPoP proof was used before: make a new proof, with a new jti, for each request."}
}
