package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mandate/provider"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// applicationView is an application as JSON. No scopes means every scope except
// introspection, and no resources any resource. A lifetime of 0 means that of the server. No algorithm means RS256
// for ID tokens, and UserInfo responses without a signature. No sector means that
// the subject is the same for all applications. No origin means that it is unknown.
type applicationView struct {
	ID                   string            `json:"id"`
	ClientID             string            `json:"client_id"`
	ClientSecret         string            `json:"client_secret,omitempty"` // only in the response that created it
	OldSecretExpiresAt   string            `json:"old_secret_expires_at,omitempty"`
	Name                 string            `json:"name"`
	Owner                string            `json:"owner"`
	Standing             string            `json:"standing"`
	Suspended            bool              `json:"suspended"`
	WhySuspended         string            `json:"why_suspended,omitempty"`
	ClientType           string            `json:"client_type"`
	GrantTypes           []string          `json:"grant_types"`
	RedirectURIs         []string          `json:"redirect_uris"`
	Scopes               []string          `json:"scopes"`
	Resources            []string          `json:"resources"`
	MayIntrospect        bool              `json:"may_introspect"`
	CertificateSubject   string            `json:"certificate_subject,omitempty"`
	HasSecret            bool              `json:"-"`
	HashClientSecret     bool              `json:"hash_client_secret"`
	SkipConsent          bool              `json:"skip_consent"`
	PKCE                 string            `json:"pkce"` // empty: as the server is set
	RequirePushed        bool              `json:"require_pushed_requests"`
	SenderConstraint     string            `json:"sender_constraint,omitempty"`
	Profile              string            `json:"profile,omitempty"`
	RequiredACR          string            `json:"required_acr"` // empty: any login
	DefaultACR           []string          `json:"default_acr_values"`
	RefreshRotation      string            `json:"refresh_rotation"`   // empty: as the server is set
	ClaimsInIDToken      string            `json:"claims_in_id_token"` // empty: as its kind says
	HasClaimsInIDToken   bool              `json:"-"`
	Claims               []json.RawMessage `json:"claims"`
	ObjectAlgorithm      string            `json:"request_object_algorithm"`
	RequireSigned        bool              `json:"require_signed_request_object"`
	RequestURIs          []string          `json:"request_uris"`
	AllowedGroups        []string          `json:"allowed_groups"` // none: everybody may use it
	DeniedGroups         []string          `json:"denied_groups"`
	NobodyNew            bool              `json:"nobody_new"`
	ResponseAlgorithm    string            `json:"response_algorithm"`
	ResponseModes        []string          `json:"response_modes"`
	AccessTokenLifetime  int64             `json:"access_token_lifetime"`
	RefreshTokenLifetime int64             `json:"refresh_token_lifetime"`
	AccessTokenFormat    string            `json:"access_token_format"`
	Algorithm            string            `json:"algorithm"`
	UserInfoAlgorithm    string            `json:"userinfo_algorithm"`
	IntrospectionAlg     string            `json:"introspection_algorithm"` // empty: RS256
	Sector               string            `json:"sector"`
	PostLogoutURIs       []string          `json:"post_logout_redirect_uris"`
	BackchannelURI       string            `json:"backchannel_logout_uri"`
	LaunchURL            string            `json:"launch_url"`
	AuthMethod           string            `json:"auth_method"` // empty: it sends its secret in any way
	AuthAlgorithm        string            `json:"auth_algorithm"`
	KeyIDs               []string          `json:"key_ids"`
	JWKSURI              string            `json:"jwks_uri"`
	EndpointAudience     bool              `json:"assertion_audience_endpoints"`
	Origin               string            `json:"origin"`
	LastUsedAt           string            `json:"last_used_at,omitempty"`
	// when it last got a code without a code challenge
	LastWithoutPKCEAt string `json:"last_without_pkce_at,omitempty"`
	CreatedAt         string `json:"created_at"`
	UpdatedAt         string `json:"updated_at"`

	Plain map[string]string `json:"plain,omitempty"` // fields that decide nothing
	plain []clients.Said

	Program  string        `json:"program,omitempty"`  // for which it was registered
	Settings *settingsView `json:"settings,omitempty"` // only in a response with its secret

	RefusedRequests []refusalView `json:"refused_requests,omitempty"` // of the last seven days; only of application show
	Warnings        []string      `json:"warnings,omitempty"`         // what its redirect URIs risk

	*applicationDetails // nil but for the command that shows one application
}

// refusalView is one kind of request that was refused. Without an error it counts those that are not listed.
type refusalView struct {
	Endpoint    string `json:"endpoint"`
	Error       string `json:"error,omitempty"`
	Description string `json:"description,omitempty"`
	Sender      string `json:"sender"` // application, person (who had signed in) or unknown
	Count       int64  `json:"count"`
	Since       string `json:"since"`
	Last        string `json:"last"`
	Remedy      string `json:"remedy,omitempty"`
}

func viewRefusals(found []events.Refusal) []refusalView {
	views := make([]refusalView, len(found))
	for i, r := range found {
		views[i] = refusalView{
			r.Endpoint,
			r.Error,
			r.Description,
			string(r.Sender),
			r.Times,
			timestamp(r.Since),
			timestamp(r.At),
			clients.RemedyOf(r).Text,
		}
	}
	return views
}

// writeRefusals lists refused requests under the application.
func (v applicationView) writeRefusals(p *program) error {
	if len(v.RefusedRequests) == 0 {
		return nil
	}
	var out strings.Builder
	out.WriteString("\nRefused requests of the last seven days:\n")
	for _, r := range v.RefusedRequests {
		sender := map[string]string{
			string(events.SignedIn): " (from a browser)",
			string(events.Stranger): " (sender unknown)",
		}[r.Sender]
		fmt.Fprintf(&out, "  %s  %d x  %s\n", r.Last, r.Count, strings.TrimSpace(r.Endpoint+" "+r.Error)+sender)
		for _, line := range []string{r.Description, r.Remedy} {
			if line != "" {
				out.WriteString("    " + graphic(line) + "\n")
			}
		}
	}
	_, err := io.WriteString(p.Stdout, out.String())
	return err
}

func viewApplication(of *provider.Provider, a storage.Application, secret string) applicationView {
	view := applicationView{
		ID:                   a.ID,
		ClientID:             a.ClientID,
		ClientSecret:         secret,
		Name:                 a.Name,
		ClientType:           a.ClientType,
		GrantTypes:           split(a.GrantTypes),
		RedirectURIs:         split(a.RedirectURIs),
		Scopes:               split(a.Scopes),
		Resources:            split(a.Resources),
		MayIntrospect:        a.MayIntrospect,
		CertificateSubject:   a.CertificateSubject,
		HasSecret:            clientauth.HasSecret(a),
		HashClientSecret:     a.HashClientSecret && clientauth.HasSecret(a),
		SkipConsent:          a.SkipConsent,
		PKCE:                 a.PKCE,
		RequirePushed:        a.RequirePushed,
		SenderConstraint:     a.SenderConstraint,
		Profile:              a.Profile,
		RequiredACR:          a.RequiredACR,
		DefaultACR:           split(a.DefaultACR),
		RefreshRotation:      a.RefreshRotation,
		ClaimsInIDToken:      a.ClaimsInIDToken,
		HasClaimsInIDToken:   of.ClaimsInIDToken(a),
		Claims:               []json.RawMessage{},
		ObjectAlgorithm:      a.ObjectAlgorithm,
		RequireSigned:        a.RequireSigned,
		RequestURIs:          split(a.RequestURIs),
		AllowedGroups:        append([]string{}, oauth.Lines(a.AllowedGroups)...),
		DeniedGroups:         append([]string{}, oauth.Lines(a.DeniedGroups)...),
		NobodyNew:            a.NobodyNew,
		ResponseAlgorithm:    a.ResponseAlgorithm,
		ResponseModes:        split(a.ResponseModes),
		AccessTokenLifetime:  a.AccessTokenLifetime,
		RefreshTokenLifetime: a.RefreshTokenLifetime,
		AccessTokenFormat:    a.AccessTokenFormat,
		Algorithm:            a.Algorithm,
		UserInfoAlgorithm:    a.UserInfoAlgorithm,
		IntrospectionAlg:     a.IntrospectionAlg,
		Sector:               a.Sector,
		PostLogoutURIs:       split(a.PostLogoutURIs),
		BackchannelURI:       a.BackchannelURI,
		LaunchURL:            a.LaunchURL,
		AuthMethod:           a.AuthMethod,
		AuthAlgorithm:        a.AuthAlgorithm,
		KeyIDs:               append([]string{}, clients.KeyIDs(a)...),
		JWKSURI:              a.JWKSURI,
		EndpointAudience:     a.EndpointAudience,
		Origin:               a.Origin,
		Program:              a.Program,
		CreatedAt:            timestamp(a.CreatedAt),
		UpdatedAt:            timestamp(a.UpdatedAt),
	}
	for _, rule := range oauth.Lines(a.Claims) {
		view.Claims = append(view.Claims, json.RawMessage(rule))
	}
	view.plain, view.Plain = clients.PlainOf(a), map[string]string{}
	for _, said := range view.plain {
		view.Plain[said.Name] = said.Text
	}
	if a.Owner != nil {
		view.Owner = *a.Owner
	}
	if a.LastUsedAt > 0 {
		view.LastUsedAt = timestamp(a.LastUsedAt)
	}
	view.Warnings = provider.RedirectWarnings(a)
	if a.LastWithoutPKCEAt > 0 {
		view.LastWithoutPKCEAt = timestamp(a.LastWithoutPKCEAt)
	}
	view.Standing, view.WhySuspended = string(policy.StandingOf(a)), of.Rules.WhySuspended(a)
	view.Suspended = view.WhySuspended != ""
	if a.OldSecretExpiresAt > time.Now().Unix() {
		view.OldSecretExpiresAt = timestamp(a.OldSecretExpiresAt)
	}
	return view
}

// split returns an empty list for an empty text, which JSON shows as [] and not as
// null.
func split(text string) []string { return append([]string{}, strings.Fields(text)...) }

// write shows an application to a person.
func (v applicationView) write(p *program) error {
	secret := [][]string{}
	switch {
	case v.ClientSecret != "" && v.Settings.has(v.ClientSecret):
		secret = [][]string{{"client secret", "in the settings below (save them now: it is not shown again)"}}
	case v.ClientSecret != "":
		secret = [][]string{{"client secret", v.ClientSecret + "   (save it now: it is not shown again)"}}
	}
	if v.OldSecretExpiresAt != "" {
		secret = append(secret, []string{"old secret", "works until " + v.OldSecretExpiresAt})
	}
	scopes := strings.Join(v.Scopes, " ")
	if scopes == "" {
		scopes = "all except introspection"
	}
	rows := [][]string{{"name", v.Name}, {"client id", v.ClientID}}
	rows = append(rows, secret...)
	rows = append(rows, [][]string{
		{"client type", v.ClientType},
		{"owner", dash(v.Owner)},
		{"standing", v.standing()},
		{"grant types", strings.Join(v.GrantTypes, " ")},
		{"redirect URIs", dash(strings.Join(v.RedirectURIs, " "))},
		{"scopes", scopes},
		{"may introspect", yes(v.MayIntrospect)},
		{"skips consent", yes(v.SkipConsent)},
		{"required login (acr)", dash(v.RequiredACR)},
		{"PKCE", cmp.Or(v.PKCE, "as the server is set")},
		{"requests pushed", yes(v.RequirePushed)},
		{"requests signed", yes(v.RequireSigned)},
		{"claims in the ID token", yes(v.HasClaimsInIDToken)},
		{"access tokens", v.AccessTokenFormat},
	}...)
	for _, of := range []struct {
		name    string
		seconds int64
	}{{"access token lifetime", v.AccessTokenLifetime}, {"refresh token lifetime", v.RefreshTokenLifetime}} {
		if of.seconds > 0 {
			rows = append(rows, []string{of.name, strconv.FormatInt(of.seconds, 10) + " seconds"})
		}
	}
	if v.HasSecret {
		rows = append(rows, []string{"secret hashed", yes(v.HashClientSecret)})
	}
	for _, row := range [][]string{
		{"certificate subject", clientauth.ShortSubject(v.CertificateSubject)},
		{"suspended", v.WhySuspended},
		{"resources", strings.Join(v.Resources, " ")},
		{"allowed groups", strings.Join(v.AllowedGroups, ", ")},
		{"denied groups", strings.Join(v.DeniedGroups, ", ")},
		{"nobody new", map[bool]string{true: "yes"}[v.NobodyNew]},
		{"authentication", strings.TrimSpace(v.AuthMethod + " " + v.AuthAlgorithm)},
		{"keys", strings.Join(v.KeyIDs, " ")},
		{"keys at", v.JWKSURI},
		{"profile", v.Profile},
		{"tokens bound by", v.SenderConstraint},
		{"default login (acr)", strings.Join(v.DefaultACR, " ")},
		{"rotation of refresh tokens", v.RefreshRotation},
		{"request objects", v.ObjectAlgorithm},
		{"request objects at", strings.Join(v.RequestURIs, " ")},
		{"responses signed", v.ResponseAlgorithm},
		{"response modes", strings.Join(v.ResponseModes, " ")},
		{"algorithm", v.Algorithm},
		{"UserInfo algorithm", v.UserInfoAlgorithm},
		{"introspection algorithm", v.IntrospectionAlg},
		{"pairwise for", v.Sector},
		{"last code without PKCE", v.LastWithoutPKCEAt},
		{"after logout", strings.Join(v.PostLogoutURIs, " ")},
		{"back-channel logout", v.BackchannelURI},
		{"launch address", v.LaunchURL},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	for _, rule := range v.Claims {
		rows = append(rows, []string{"claim", string(rule)})
	}
	for _, said := range v.plain {
		rows = append(rows, []string{said.Label, said.Text})
	}
	if v.EndpointAudience {
		rows = append(rows, []string{"assertions for an endpoint", "accepted"})
	}
	if v.applicationDetails != nil {
		rows = append(rows, slices.DeleteFunc(v.rows(), func(row []string) bool { return row[1] == "" })...)
	}
	for _, warning := range v.Warnings {
		rows = append(rows, []string{"warning", warning})
	}
	if v.Program != "" {
		rows = append(rows, []string{"program", v.Program})
	}
	rows = append(
		rows,
		[]string{"origin", dash(v.Origin)},
		[]string{"last used", dash(v.LastUsedAt)},
		[]string{"created", v.CreatedAt},
	)
	err := writeTable(p.Stdout, rows)
	if err == nil && v.Settings != nil {
		err = v.Settings.write(p.Stdout)
	}
	if err != nil {
		return err
	}
	return v.writeRefusals(p)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// standing is the standing of an application, and whether it is suspended.
func (v applicationView) standing() string {
	if v.Suspended {
		return v.Standing + ", suspended"
	}
	return v.Standing
}

func (p *program) show(v applicationView, asJSON bool) error {
	if asJSON {
		return writeJSON(p.Stdout, v)
	}
	return v.write(p)
}
