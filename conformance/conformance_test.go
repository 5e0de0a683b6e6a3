package conformance

import (
	"slices"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
)

// There is one test for each document, with its rules as subtests: go test ./conformance -run 'RFC6749/4\.1'

func TestRFC6749(t *testing.T) { testDocument(t, "RFC6749") }
func TestRFC6750(t *testing.T) { testDocument(t, "RFC6750") }
func TestRFC7009(t *testing.T) { testDocument(t, "RFC7009") }
func TestRFC7521(t *testing.T) { testDocument(t, "RFC7521") }
func TestRFC7523(t *testing.T) { testDocument(t, "RFC7523") }
func TestRFC7591(t *testing.T) { testDocument(t, "RFC7591") }
func TestRFC7592(t *testing.T) { testDocument(t, "RFC7592") }
func TestRFC7636(t *testing.T) { testDocument(t, "RFC7636") }
func TestRFC7662(t *testing.T) { testDocument(t, "RFC7662") }
func TestRFC8414(t *testing.T) { testDocument(t, "RFC8414") }
func TestRFC8628(t *testing.T) { testDocument(t, "RFC8628") }
func TestRFC8705(t *testing.T) { testDocument(t, "RFC8705") }
func TestRFC8707(t *testing.T) { testDocument(t, "RFC8707") }
func TestRFC9068(t *testing.T) { testDocument(t, "RFC9068") }
func TestRFC9101(t *testing.T) { testDocument(t, "RFC9101") }
func TestRFC9701(t *testing.T) { testDocument(t, "RFC9701") }
func TestRFC9126(t *testing.T) { testDocument(t, "RFC9126") }

func TestRFC9207(t *testing.T) { testDocument(t, "RFC9207") }
func TestRFC8252(t *testing.T) { testDocument(t, "RFC8252") }
func TestRFC9700(t *testing.T) { testDocument(t, "RFC9700") }

func TestCIMD(t *testing.T) { testDocument(t, "CIMD") }

func TestMCP(t *testing.T) { testDocument(t, "MCP") }

func TestOAuth21(t *testing.T) { testDocument(t, "OAuth21") }

func TestFAPI2(t *testing.T) { testDocument(t, "FAPI2") }

func TestFAPI2MS(t *testing.T) { testDocument(t, "FAPI2MS") }

func TestOIDCCore(t *testing.T) { testDocument(t, "OIDCCore") }

func TestRFC9449(t *testing.T) { testDocument(t, "RFC9449") }
func TestRFC9470(t *testing.T) { testDocument(t, "RFC9470") }
func TestRFC9728(t *testing.T) { testDocument(t, "RFC9728") }

func TestRFC10017(t *testing.T) { testDocument(t, "RFC10017") }
func TestRFC10070(t *testing.T) { testDocument(t, "RFC10070") }

func TestOIDCDiscovery(t *testing.T) { testDocument(t, "OIDCDiscovery") }

func TestOIDCRegistration(t *testing.T) { testDocument(t, "OIDCRegistration") }

func TestOIDCFormPost(t *testing.T) { testDocument(t, "OIDCFormPost") }

func TestJARM(t *testing.T) { testDocument(t, "JARM") }

func TestOIDCRPLogout(t *testing.T) { testDocument(t, "OIDCRPLogout") }

func TestOIDCBackChannel(t *testing.T) { testDocument(t, "OIDCBackChannel") }

// testDocument runs every check of a document on Mandate.
func testDocument(t *testing.T, id string) {
	rules, err := rules.Select("", []string{id})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if rule.Check == nil {
			continue
		}
		t.Run(strings.TrimPrefix(rule.ID, id+"/"), func(t *testing.T) {
			if !rule.Alone {
				t.Parallel()
			}
			for _, database := range testkit.Databases(rule.ID) {
				t.Run(database, func(t *testing.T) {
					s := servertest.OnDatabase(t, database)
					if !rule.Alone {
						t.Parallel()
					}
					servertest.Judge(t, s.Runner.Check(t.Context(), rule))
				})
			}
		})
	}
}

// FAPI 2.0 Security Profile §5.3.2.1: the rules hold for clients with certificates too, whose tokens are bound to them.
func TestFAPI2Certificates(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	onlyDPoP := []string{"FAPI2/5.3.2.1/code-bound", "FAPI2/5.4.1/proofs"}
	for method, skipped := range map[string][]string{need.CertificateAuth: aboutKeys, need.SelfSignedAuth: aboutKeys,
		need.PrivateKeyJWT: onlyDPoP} {
		t.Run(method, func(t *testing.T) {
			of, err := s.WithCertificates(s.Runner.Target, method)
			if err != nil {
				t.Fatal(err)
			}
			wantFAPI(t, s, of, skipped)
		})
	}
}

// wantFAPI asserts that a server satisfies the rules of FAPI 2.0, except some that are skipped.
func wantFAPI(t *testing.T, s *servertest.Server, of *target.Target, want []string) {
	t.Helper()
	runner, err := NewRunner(t.Context(), of, s.Options())
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := rules.Select("", []string{"FAPI2", "FAPI2MS"})
	if err != nil {
		t.Fatal(err)
	}
	// It waits for a minute, and no certificate changes it.
	chosen = slices.DeleteFunc(chosen, func(r check.Rule) bool { return r.ID == "FAPI2/5.3.2.1/code-lifetime" })
	var skipped []string
	for _, result := range runner.Run(t.Context(), chosen, func(check.Result) {}).Results {
		switch {
		case result.Rule.Check == nil:
		case result.Status == check.Skip && result.Reason != rules.OnLoopback:
			skipped = append(skipped, result.Rule.ID)
		default:
			servertest.Judge(t, result)
		}
	}
	slices.Sort(skipped)
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped are %q, want %q", skipped, want)
	}
}
