package faults

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"sync"

	"github.com/golang-jwt/jwt/v5"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// The proxy signs changed tokens with its own key, which it publishes among the keys of the server.

var signer = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

const ofTheProxy = "of-the-proxy"

// inside parses a JWT without verifying it. It returns an empty one if it cannot be parsed.
func inside(text string) *jose.JWT {
	j, err := jose.Read(text)
	if err != nil {
		return &jose.JWT{}
	}
	return j
}

// claimed returns a JWT with one claim and without a signature.
func claimed(name string, value any) string {
	return jose.Unsigned("." + jose.Encoded(map[string]any{name: value}) + ".")[0]
}

// changing is a change to a token before it is signed again.
type changing func(token *jwt.Token, claims map[string]any)

// resign changes a signed token. A token with an HMAC stays as it is.
func resign(text string, change changing) string {
	claims := jwt.MapClaims{}
	old, _, err := jwt.NewParser().ParseUnverified(text, claims)
	if err != nil || isHMAC(old) {
		return text
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = ofTheProxy
	if old.Header["typ"] != nil {
		token.Header["typ"] = old.Header["typ"]
	}
	change(token, claims)
	var key any = signer()
	if token.Method == jwt.SigningMethodNone {
		key = jwt.UnsafeAllowNoneSignatureType
	}
	text, err = token.SignedString(key)
	if err != nil {
		panic(err) // the key belongs to the method
	}
	return text
}

func isHMAC(token *jwt.Token) bool {
	_, is := token.Method.(*jwt.SigningMethodHMAC)
	return is
}

// method signs a token with another algorithm.
func method(m jwt.SigningMethod) changing {
	return func(token *jwt.Token, _ map[string]any) { token.Method, token.Header["alg"] = m, m.Alg() }
}

// saying sets or removes a claim.
func saying(name string, value any) changing {
	return func(_ *jwt.Token, claims map[string]any) { put(name, value)(claims) }
}

// heading sets or removes a member of the header.
func heading(name string, value any) changing {
	return func(token *jwt.Token, _ map[string]any) { put(name, value)(token.Header) }
}

// withKey publishes the key of the proxy among those of the server.
func withKey(then spoiler) spoiler {
	encoded := base64.RawURLEncoding
	return func(p *proxy, q *ask) *wire.Answer {
		a := then(p, q)
		if q.path == keysPath {
			edit(a, func(object map[string]any) {
				keys, _ := object["keys"].([]any)
				object["keys"] = append(keys, map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": ofTheProxy,
					"n": encoded.EncodeToString(signer().N.Bytes()),
					"e": encoded.EncodeToString(big.NewInt(int64(signer().E)).Bytes())})
			})
		}
		return a
	}
}

// whose selects the token responses that a fault changes.
type whose func(p *proxy, q *ask) bool

func everybodys(*proxy, *ask) bool { return true }

func refreshed(_ *proxy, q *ask) bool { return q.form().Get("grant_type") == "refresh_token" }

// of selects the responses to a client.
func of(role need.Need) whose {
	return func(p *proxy, q *ask) bool {
		id, _ := q.client()
		return id == p.target.Clients[role].ID
	}
}

// replacing replaces the ID tokens in responses.
func replacing(to whose, other func(p *proxy, q *ask, text string) any) spoiler {
	return withKey(func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if q.path == tokenPath && a.Granted() && to(p, q) {
			edit(a, func(object map[string]any) {
				if text, is := object["id_token"].(string); is {
					put("id_token", other(p, q, text))(object)
				}
			})
		}
		return a
	})
}

// resigning changes ID tokens.
func resigning(to whose, change changing) spoiler {
	return replacing(to, func(_ *proxy, _ *ask, text string) any { return resign(text, change) })
}

// secretly signs the ID tokens of a client with another HMAC key.
func secretly(role need.Need, key func(secret string) []byte, change changing) spoiler {
	return replacing(of(role), func(p *proxy, _ *ask, text string) any {
		claims := jwt.MapClaims{}
		_, _, err := jwt.NewParser().ParseUnverified(text, claims)
		if err != nil {
			return text
		}
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
		change(token, claims)
		text, _ = token.SignedString(key(p.target.Clients[role].Secret)) // any bytes are a key
		return text
	})
}

// hmacFaults are faults of ID tokens with an HMAC (OIDC Core §10.1).
func hmacFaults() []fault {
	itself := func(secret string) []byte { return []byte(secret) }
	unchanged := func(*jwt.Token, map[string]any) {}
	byKey := func(when whose) spoiler {
		return replacing(func(p *proxy, q *ask) bool { return of(need.HS256)(p, q) && when(p, q) },
			func(_ *proxy, _ *ask, text string) any {
				claims := jwt.MapClaims{}
				_, _, _ = jwt.NewParser().ParseUnverified(text, claims) // the server issued it
				text, _ = jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(signer())
				return text
			})
	}
	return at(tokenPath+" "+keysPath, []fault{
		{name: "a client that registered HS256 gets RS256", spoil: byKey(everybodys),
			fails: "OIDCCore/10.1/registered-algorithm",
			blocks: "OIDCCore/10.1/hmac-key OIDCCore/10.1/hmac-key-of-client OIDCCore/10.1/hmac-at-hash " +
				"OIDCCore/10.1/hmac-refreshed OIDCCore/10.1/hmac-hint " +
				"OIDCCore/10.1/hmac-hint-forged OIDCCore/16.19/secret-length"},
		{name: "a client that registered HS256 gets RS256 after a refresh", spoil: byKey(refreshed),
			fails: "OIDCCore/10.1/hmac-refreshed"},
		{name: "HMACs use the digest of the secret", spoil: secretly(need.HS256, func(secret string) []byte {
			digest := sha256.Sum256([]byte(secret))
			return digest[:]
		}, unchanged), fails: "OIDCCore/10.1/hmac-key", passes: "OIDCCore/10.1/hmac-refreshed"},
		{name: "HMACs use an empty key", spoil: secretly(need.HS256, func(string) []byte { return []byte{} }, unchanged),
			fails: "OIDCCore/10.1/hmac-key-of-client OIDCCore/10.1/hmac-key"},
		{name: "the at_hash of an ID token with an HMAC is wrong",
			spoil: secretly(need.HS256, itself, saying("at_hash", "AAAAAAAAAAAAAAAAAAAAAA")),
			fails: "OIDCCore/10.1/hmac-at-hash"},
		{name: "the ID tokens of public clients have HMACs", spoil: secretly(need.Public, itself, unchanged),
			fails: "OIDCCore/10.1/no-hmac-for-public"},
		{name: "the secret for HMACs is too short", spoil: func(p *proxy, q *ask) *wire.Answer {
			if id, secret := q.client(); q.path == tokenPath && id == p.target.Clients[need.HS256].ID &&
				secret == p.target.Clients[need.HS256].Secret {
				q.as(p.front.Runner.Target.Clients[need.HS256])
			}
			return secretly(need.HS256, itself, unchanged)(p, q)
		}, aim: func(t *target.Target) {
			c := *t.Clients[need.HS256]
			c.Secret = c.Secret[:31]
			t.Clients[need.HS256] = &c
		}, fails: "OIDCCore/16.19/secret-length"},
	})
}
