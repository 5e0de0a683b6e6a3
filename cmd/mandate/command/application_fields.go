package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider/acr"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// fieldFlags are the flags of application add and application update for the fields that need no more than that.
func fieldFlags() []fieldFlag[clients.Registration] {
	type r = clients.Registration
	return []fieldFlag[clients.Registration]{
		{"name", "`NAME` that people see", func(r *r) any { return &r.Name }},
		{
			"client-type",
			"`TYPE`: confidential, or public for an application that cannot keep a secret (default: confidential)",
			func(r *r) any { return &r.ClientType },
		},
		{
			"grant",
			"`GRANT`: " + strings.Join(policy.GrantNames(), ", ") + "; may be repeated",
			func(r *r) any { return (*words)(&r.GrantTypes) },
		},
		{"redirect-uri", "redirect `URI`; may be repeated", func(r *r) any { return &r.RedirectURIs }},
		{
			"scope",
			"`SCOPE` that it may request; may be repeated (default: all except introspection)",
			func(r *r) any { return (*narrowing)(&r.Scopes) },
		},
		{
			"resource",
			"`URI` of a resource that its tokens may be for; the first one is the default; may be repeated (default: any resource)",
			func(r *r) any { return (*narrowing)(&r.Resources) },
		},
		{
			"may-introspect",
			"let it introspect tokens of other applications",
			func(r *r) any { return &r.MayIntrospect },
		},
		{
			"skip-consent",
			"do not show the consent page; a public application needs https redirect URIs at a host for it",
			func(r *r) any { return &r.SkipConsent },
		},
		{
			"access-token-format",
			"`FORMAT` of its access tokens: opaque, or jwt for APIs that verify tokens themselves (RFC 9068) (default: opaque)",
			func(r *r) any { return &r.AccessTokenFormat },
		},
		{"access-token-lifetime", "lifetime of its access tokens in `SECONDS`; 0: the server's (default: the same)",
			func(r *r) any { return &r.AccessTokenLifetime }},
		{"refresh-token-lifetime", "lifetime of its refresh tokens in `SECONDS`; 0: the server's (default: the same)",
			func(r *r) any { return &r.RefreshTokenLifetime }},
		{
			"userinfo-algorithm",
			"`ALGORITHM` that signs its UserInfo responses; the empty text: none (default: they are not signed)",
			func(r *r) any { return &r.UserInfoAlgorithm },
		},
		{
			"pairwise",
			"use pairwise subjects, which applications of other hosts cannot correlate",
			func(r *r) any { return &r.Pairwise },
		},
		{
			"post-logout-redirect-uri",
			"post-logout redirect `URI`; may be repeated",
			func(r *r) any { return &r.PostLogoutURIs },
		},
		{"backchannel-logout-uri", "`URI` that is called when a session ends", func(r *r) any { return &r.BackchannelURI }},
		{
			"profile",
			"`PROFILE` that it switches on: " + strings.Join(policy.Profiles(), ", ") +
				" (FAPI 2.0); the empty text switches it off (default: none)",
			func(r *r) any { return &r.Profile },
		},
		{
			"required-acr",
			"the weakest login (`ACR`) with which a person may approve it: " + strings.Join(acr.Values(), ", ") +
				"; the empty text allows any (default: any)",
			func(r *r) any { return &r.RequiredACR },
		},
		{
			"default-acr-values",
			"the logins (`ACR`, the preferred one first, with spaces between) for its requests that name none (OIDC Registration, default_acr_values); the empty text: any (default: any)",
			func(r *r) any { return &r.DefaultACR },
		},
		{
			"sender-constraint",
			"the `PROOF` that its tokens always need: " + possession.DPoP + " (RFC 9449), or " + possession.Certificate +
				" (RFC 8705); default: none, but with a DPoP proof it gets DPoP tokens",
			func(r *r) any { return &r.SenderConstraint },
		},
		{
			"refresh-rotation",
			"whether a refresh token is replaced when it is used: `on or off`; the empty text: as ROTATE_REFRESH_TOKEN says (default: the same)",
			func(r *r) any { return &r.RefreshRotation },
		},
		{
			"claims-in-id-token",
			"whether its ID tokens have the claims of the granted scopes: `on or off`; the empty text: on for a confidential application for which an administrator or the operator is responsible, without a profile, and off for others (default: the same)",
			func(r *r) any { return &r.ClaimsInIDToken },
		},
		{
			"pkce",
			"whether each authorization request needs a code challenge: `" + strings.Join(policy.PKCEValues(), " or ") +
				"`; the empty text: as PKCE_REQUIRED says (default: the same)",
			func(r *r) any { return &r.PKCE },
		},
		{
			"require-pushed-requests",
			"refuse its authorization requests that it did not push (RFC 9126)",
			func(r *r) any { return &r.RequirePushed },
		},
		{
			"algorithm",
			"`ALGORITHM` that signs its ID tokens and its JWT access tokens: " + strings.Join(jose.Algorithms(), ", ") +
				", or HS256 (ID tokens only) (default: " + policy.DefaultAlgorithm + ")",
			func(r *r) any { return &r.Algorithm },
		},
		{
			"introspection-algorithm",
			"`ALGORITHM` that signs the introspection responses that it asks for as a JWT (RFC 9701): " +
				strings.Join(jose.Algorithms(), ", ") + " (default: " + policy.DefaultAlgorithm + ")",
			func(r *r) any { return &r.IntrospectionAlgorithm },
		},
		{
			"assertion-audience-endpoints",
			"accept client assertions whose aud is the address of an endpoint; for older client libraries",
			func(r *r) any { return &r.Authentication.EndpointAudience },
		},
		{
			"request-object-algorithm",
			"the only `ALGORITHM` of its request objects: " + strings.Join(clients.ObjectAlgorithms(), ", ") +
				" (default: any of them)",
			func(r *r) any { return &r.Messages.ObjectAlgorithm },
		},
		{
			"require-signed-request-object",
			"refuse its authorization requests that it did not sign (RFC 9101)",
			func(r *r) any { return &r.Messages.RequireSigned },
		},
		{
			"request-uri",
			"`URI` of its request objects; may be repeated",
			func(r *r) any { return &r.Messages.RequestURIs },
		},
		{
			"response-algorithm",
			"`ALGORITHM` that signs its authorization responses (JARM): " + strings.Join(jose.Algorithms(), ", ") +
				" (default: " + policy.DefaultAlgorithm + ")",
			func(r *r) any { return &r.Messages.ResponseAlgorithm },
		},
		{
			"response-mode",
			"response `MODE` that it may use: " + strings.Join(clients.ResponseModes(), ", ") +
				"; may be repeated (default: any; " + everything + " stands for that)",
			func(r *r) any { return (*narrowing)(&r.Messages.ResponseModes) },
		},
	}
}

// registrationFlags are all flags for the fields of a registration. application add and application update have the same.
type registrationFlags struct {
	said   clients.Registration
	noHash bool
	auth   authFlags
}

func (f *registrationFlags) add(c *cobra.Command) {
	addFlags(c, fieldFlags(), &f.said)
	c.Flags().BoolVar(
		&f.noHash, "no-hash-client-secret", false, "store the secret encrypted with the server's key, not hashed",
	)
	f.auth.add(c)
}

// read sets the fields whose flags are present.
func (f *registrationFlags) read(c *cobra.Command, into *clients.Registration) error {
	readFlags(c, fieldFlags(), &f.said, into)
	if c.Flags().Changed("no-hash-client-secret") {
		into.HashClientSecret = !f.noHash
	}
	return f.auth.read(c, into)
}

func (p *program) applicationUpdateCommand() *cobra.Command {
	var f registrationFlags
	var asJSON bool
	c := &cobra.Command{Use: "update CLIENT_ID", Short: "Change an application", Args: arguments("CLIENT_ID"),
		Long: `Change an application. What no flag names stays as it is. A flag that may be repeated gives
the whole list, and with an empty text it empties the list. A list that allows everything while it
is empty, as of scopes and resources, has __all__ for that.
A flag without a value is switched off with =false, such as --skip-consent=false.

application assign and application take-over change who is responsible for it.`,
		RunE: func(c *cobra.Command, args []string) error {
			err := requireChange(c)
			if err != nil {
				return err
			}
			return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
				changed, err := o.provider.Clients.Change(
					c.Context(), policy.Operator(), a.ID,
					func(r *clients.Registration) error {
						return f.read(c, r)
					},
				)
				if err != nil {
					return err
				}
				if now := changed.Application; c.Flags().Changed("no-hash-client-secret") && clientauth.HasSecret(now) && !now.HashClientSecret && !clientauth.SecretIsReadable(now) {
					fmt.Fprintln(p.Stderr, "The stored secret remains a hash until mandate application rotate-secret replaces it.")
				}
				return p.show(viewApplication(o.provider, changed.Application, changed.Secret), asJSON)
			})
		}}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	keepsTheRest(c)
	return c
}
