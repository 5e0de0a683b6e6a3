package mandate

import (
	"crypto/tls"
	"strings"
	"testing"
)

// The log line of a client that is refused names it, and says what its operator can compare. The
// client learns nothing of that, because a stranger may have sent the request.
func TestLogOfRefusedClients(t *testing.T) {
	ours, foreign := newIssuer(t), newIssuer(t)
	s, mutual := withCertificates(t, newSQLite(t), ours)
	robot, others := s.keyHolder(t, "robot"), newStatementIssuer(t, "others")
	s.application(t, "--name", "issued", "--client-id", "issued", "--grant", "client_credentials", "--certificate-subject",
		"san_dns=issued.example")
	own := selfSigned(t, "own.example")
	s.application(t, "--name", "own", "--client-id", "own", "--grant", "client_credentials", "--auth-method",
		"self_signed_tls_client_auth", "--jwks", keysFile(t, setOf(t, certificateKey(t, own, "key-1"))))
	secret := s.application(t, "--name", "secret", "--client-id", "with-a-secret", "--grant", "client_credentials")
	stranger, unknown, renewed := ours.client(t, "stranger.example"), foreign.client(t, "issued.example"), reissued(t, own)
	used := s.assert(t, robot, nil, nil)
	s.mustToken(t, asserting(used), forItself)

	by := func(keys *statementIssuer, id string, claims, header member) auth {
		return asserting(keys.sign(t, s.assertionClaims(id, claims), header))
	}
	for _, c := range []struct {
		name        string
		as          auth
		certificate *tls.Certificate
		id          string // without client authentication
		want        []string
	}{
		{"a signature by another key", by(others, "robot", nil, nil), nil, "",
			[]string{"the client is robot: the signature is not by its key"}},
		{"an unknown kid", by(robot.keys, "robot", nil, member{"kid": "strange-kid"}), nil, "",
			[]string{"the client is robot: none of its keys has the alg and the kid of the header: it has ", "EC ES256"}},
		{"another algorithm", by(robot.keys, "with-a-secret", nil, nil), nil, "",
			[]string{"the client is with-a-secret: it is registered for client_secret_basic or client_secret_post, and the " +
				"algorithms of its assertions are none"}},
		{"an unknown client", by(robot.keys, "strange-client", nil, nil), nil, "", []string{"no client has the id in sub"}},
		{"another audience", by(robot.keys, "robot", member{"aud": "https://strange.example"}, nil), nil, "",
			[]string{"must be the issuer of this server, " + s.Issuer + ", character by character.", "the client is robot"}},
		{"one that lives too long", by(robot.keys, "robot", member{"exp": 9999999999}, nil), nil, "",
			[]string{"more than 600 seconds ahead", "the client is robot"}},
		{"another type", by(robot.keys, "robot", nil, member{"typ": "strange-type"}), nil, "", []string{"an alg of ES256, "}},
		{"an expired one", by(robot.keys, "robot", member{"exp": 1}, nil), nil, "",
			[]string{"has expired", "the client is robot"}},
		{"a used one", asserting(used), nil, "", []string{"was used already", "the client is robot"}},
		{"another client_id", both(by(robot.keys, "robot", nil, nil), "client_id", "strange-client"), nil, "",
			[]string{"client_id in the body"}},
		{"no assertion", nobody, nil, "robot", []string{"must send a client assertion", "the client is robot"}},
		{"a wrong secret", basic(secret.ClientID, "strange secret"), nil, "",
			[]string{"the secret is wrong", "the client is with-a-secret"}},
		{"another subject", nobody, &stranger, "issued",
			[]string{"the client is issued: it has subject_dn=CN=stranger.example",
				"san_dns=stranger.example, and san_dns=issued.example is registered"}},
		{"another authority", nobody, &unknown, "issued",
			[]string{"unknown authority", "the client is issued: it has subject_dn=CN=issued.example",
				"and san_dns=issued.example is registered"}},
		{"no certificate", nobody, nil, "issued",
			[]string{"registered for tls_client_auth, and the request has no client certificate", "the client is issued"}},
		{"another certificate of the same key", nobody, &renewed, "own",
			[]string{"the client is own: it has subject_dn=CN=own.example", "x5t#S256 " + digest(string(renewed.Leaf.Raw)) +
				", and registered are EC key-1"}},
	} {
		before := len(s.log.String())
		at := &rehearsal{server: s, mutual: mutual}
		a := at.reached(mutual, c.certificate).post(t, "/o/token/", c.as, with(forItself, "client_id", c.id))
		if err := a.refused(401, "invalid_client"); err != nil || strings.Contains(a.Body, "the client is") ||
			strings.Contains(a.Body, "registered are") {
			t.Errorf("%s: %v: %s", c.name, err, a.Body)
		}
		line := ""
		waitFor(t, "the line of "+c.name, func() bool {
			line = s.log.String()[before:]
			return strings.Contains(line, "status=401") && strings.HasSuffix(line, "\n")
		})
		for _, want := range c.want {
			if !strings.Contains(line, want) {
				t.Errorf("%s: the log has no %q:\n%s", c.name, want, line)
			}
		}
		// What is in an assertion stays out of the log, and so does an id that nobody has.
		if strings.Contains(line, "strange-") || strings.Contains(line, "https://strange") ||
			strings.Contains(line, "strange secret") {
			t.Errorf("%s: the log has what the request sent:\n%s", c.name, line)
		}
	}
}
