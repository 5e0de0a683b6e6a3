package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mandate/provider"
	"mandate/provider/clientauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// applicationDetails is what the page of an application shows beside its registration. Some of it is counted or read
// for one application alone.
type applicationDetails struct {
	Issuer                string          `json:"issuer,omitempty"` // empty without OpenID Connect
	AuthorizationEndpoint string          `json:"authorization_endpoint,omitempty"`
	PushEndpoint          string          `json:"pushed_authorization_request_endpoint,omitempty"`
	DeviceEndpoint        string          `json:"device_authorization_endpoint,omitempty"`
	TokenEndpoint         string          `json:"token_endpoint"`
	IntrospectionEndpoint string          `json:"introspection_endpoint,omitempty"`
	AssertionAudience     string          `json:"assertion_audience,omitempty"` // aud of its client assertions
	AccessLifetime        int64           `json:"effective_access_token_lifetime"`
	RefreshLifetime       int64           `json:"effective_refresh_token_lifetime,omitempty"`
	Keys                  []clientKeyView `json:"keys"`
	StatementIssuer       string          `json:"software_statement_issuer,omitempty"`
	Document              string          `json:"metadata_document,omitempty"` // with which it came
	FollowsDocument       bool            `json:"follows_metadata_document,omitempty"`
	// it is registered for more than its standing allows
	HasUnusableRights bool `json:"has_unusable_rights"`
	People            int  `json:"people"` // who have approved it
	MorePeople        bool `json:"more_people,omitempty"`
	Tokens            int  `json:"live_tokens"` // without signed access tokens, which are not stored
	MoreTokens        bool `json:"more_live_tokens,omitempty"`
}

type clientKeyView struct {
	ID         string `json:"kid"`
	Kind       string `json:"kind"` // empty: it was not read yet
	Algorithm  string `json:"alg"`
	LastUsedAt string `json:"last_used_at,omitempty"`
}

func (p *program) applicationShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show CLIENT_ID",
		Short: "Show an application, without its secret",
		Args:  arguments("CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
				view := viewApplication(o.provider, a, "")
				var err error
				view.applicationDetails, err = detailsOf(c.Context(), o.provider, a)
				if err != nil {
					return err
				}
				found, err := o.provider.Refusals.Of(c.Context(), a)
				if err != nil {
					return err
				}
				view.RefusedRequests = viewRefusals(found)
				return p.show(view, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func detailsOf(ctx context.Context, of *provider.Provider, a storage.Application) (*applicationDetails, error) {
	now, more := of.Rules.EffectiveRights(a)
	d := &applicationDetails{
		TokenEndpoint:     endpointOf(of, a, "token"),
		HasUnusableRights: more,
		Document:          policy.DocumentOf(a),
		FollowsDocument:   policy.FollowsDocument(a),
		StatementIssuer:   of.Registrations.StatementOf(a).Issuer,
	}
	d.AccessLifetime, d.RefreshLifetime = of.LifetimesOf(now)
	if policy.HasGrant(now, policy.GrantCode) {
		d.AuthorizationEndpoint = of.Issuer() + "/authorize/"
		if now.RequirePushed {
			d.PushEndpoint = endpointOf(of, a, "par")
		}
		if of.HasOpenID() {
			d.Issuer = of.Issuer()
		}
	}
	if policy.HasGrant(now, policy.GrantDevice) {
		d.DeviceEndpoint = of.Issuer() + "/device_authorization/"
	}
	if now.MayIntrospect {
		d.IntrospectionEndpoint = of.Issuer() + "/introspect/"
	}
	if clientauth.SignsAssertions(a) {
		d.AssertionAudience = of.Issuer()
	}
	known, err := of.Clients.Keys(ctx, a)
	if err != nil {
		return nil, err
	}
	d.Keys = []clientKeyView{}
	for _, k := range known {
		shown := clientKeyView{ID: k.ID, Kind: k.Kind, Algorithm: k.Algorithm}
		if k.LastUsedAt > 0 {
			shown.LastUsedAt = timestamp(k.LastUsedAt)
		}
		d.Keys = append(d.Keys, shown)
	}
	holds, err := of.Clients.Holding(ctx, a)
	d.People, d.MorePeople, d.Tokens, d.MoreTokens = holds.People, holds.MorePeople, holds.Tokens, holds.MoreTokens
	return d, err
}

// endpointOf returns the address of an endpoint at which an application authenticates.
//
// RFC 8705 §5: a certificate is asked for at addresses of their own.
func endpointOf(of *provider.Provider, a storage.Application, name string) string {
	certificate := clientauth.ShowsCertificate(a) || a.SenderConstraint == possession.Certificate
	if at := of.CertificateEndpoints(); at != "" && certificate {
		return at + "/" + name + "/"
	}
	return of.Issuer() + "/" + name + "/"
}

// rows are those of the table that a person reads. One without a value is left out.
func (d *applicationDetails) rows() [][]string {
	rows := [][]string{
		{"issuer", d.Issuer},
		{"authorization endpoint", d.AuthorizationEndpoint},
		{"pushed authorization requests", d.PushEndpoint},
		{"device authorization endpoint", d.DeviceEndpoint},
		{"token endpoint", d.TokenEndpoint},
		{"introspection endpoint", d.IntrospectionEndpoint},
		{"aud of client assertions", d.AssertionAudience},
		{"access tokens last", seconds(d.AccessLifetime)},
		{"refresh tokens last", seconds(d.RefreshLifetime)},
		{"metadata document", d.document()},
		{"software statement of", d.StatementIssuer},
		{"without effect now", d.withoutEffect()},
	}
	for _, k := range d.Keys {
		rows = append(
			rows, []string{"key " + k.ID, strings.TrimSpace(k.Kind+" "+k.Algorithm) + ", last used: " + dash(k.LastUsedAt)},
		)
	}
	return append(
		rows, []string{"people who approved it", atLeast(d.People, d.MorePeople)},
		[]string{"live tokens", atLeast(d.Tokens, d.MoreTokens)},
	)
}

func (d *applicationDetails) document() string {
	if d.Document != "" && !d.FollowsDocument {
		return d.Document + " (no longer read: somebody is responsible for the application)"
	}
	return d.Document
}

func (d *applicationDetails) withoutEffect() string {
	if d.HasUnusableRights {
		return "a part of this registration, because no administrator is responsible for it"
	}
	return ""
}

func seconds(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d seconds (%s)", n, time.Duration(n)*time.Second)
}

func atLeast(n int, more bool) string {
	if more {
		return fmt.Sprintf("more than %d", n)
	}
	return fmt.Sprint(n)
}
