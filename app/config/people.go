package config

// SignInServer is one item of SIGN_IN_SERVERS: another OpenID Provider with which people sign in.
type SignInServer struct {
	// Name is a part of the redirect URI, so it must not change: lower-case letters, digits and `-`.
	Name string `key:"NAME" default:""`
	// Label is what the button and the texts for people call the server. By default it is the name.
	Label string `key:"LABEL" default:""`
	// Issuer is the issuer of the server, character by character (OIDC Discovery §3).
	//
	// The server reads its metadata from there when somebody signs in, and at most every five minutes. An address in a
	// special-use network needs `OUTBOUND_ALLOWED_NETWORKS`.
	Issuer string `key:"ISSUER" default:""`
	// ClientID is the client id of Mandate there.
	ClientID string `key:"CLIENT_ID" default:""`
	// ClientSecret is the client secret of Mandate there.
	ClientSecret string `key:"CLIENT_SECRET" default:"" secret:"true"`
	// Scopes are the scopes that Mandate requests there.
	Scopes []string `key:"SCOPES" default:"[openid, profile, email]"`
	// TrustedForEmail links a person of that server, at the first sign-in, to the only person here who has the same
	// email address, if the address is verified there and here.
	//
	// Whoever controls that server can then sign in as any of these people.
	TrustedForEmail bool `key:"TRUSTED_FOR_EMAIL" default:"false"`
	// NewPeople says who gets an account at the first sign-in: nobody (`off`), people with an
	// [invitation](sign-up.md), or those of `ALLOWED_DOMAINS`.
	//
	// With `invited`, the verified email address of the person there has an invitation here. With `domains`, it has
	// one of the `ALLOWED_DOMAINS`. Nobody gets an account if somebody here has the address.
	NewPeople string `key:"NEW_PEOPLE" default:"off" oneof:"off invited domains"`
	// AllowedDomains are the domains for `NEW_PEOPLE: domains` and `ASSUME_EMAIL_VERIFIED`, in lower case. A subdomain
	// needs an entry of its own.
	AllowedDomains []string `key:"ALLOWED_DOMAINS" default:"[]"`
	// AssumeEmailVerified takes an address in the `ALLOWED_DOMAINS` as verified if that server says nothing about it.
	// Entra ID needs this: it sends no `email_verified`.
	//
	// An address that is said not to be verified stays refused. Set it only if nobody there can choose an address in
	// these domains: in the attack nOAuth of 2023, people of an Entra ID tenant wrote the address of somebody else
	// into their own account, and signed in as that person elsewhere. The optional claim `xms_edov` is the better way
	// there, and counts without this setting.
	AssumeEmailVerified bool `key:"ASSUME_EMAIL_VERIFIED" default:"false"`
	// GroupsClaim is the claim in which that server names the groups or roles of a person.
	GroupsClaim string `key:"GROUPS_CLAIM" default:""`
	// Groups is a mapping from values of that claim to groups here. At each sign-in a person becomes a member of
	// exactly those mapped groups whose value is in the claim.
	//
	// Other groups stay.
	Groups Pairs `key:"GROUPS" default:"{}"`
	// ACR is a mapping from the values of `acr` there to `urn:mandate:acr:password`, `urn:mandate:acr:mfa`, `phr` or
	// `urn:mandate:acr:passkey`.
	//
	// A login with any other value, or without one, counts as one by password.
	ACR Pairs `key:"ACR" default:"{}"`
	// Logout offers to sign out there too after signing out here (OIDC RP-Logout §2). Register `BASE_URL/` there as a
	// post-logout redirect URI.
	Logout bool `key:"LOGOUT" default:"false"`
}
