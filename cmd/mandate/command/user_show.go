package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// personView is everything about a person as JSON, and no secret of theirs.
type personView struct {
	userView
	Profile people.Profile `json:"profile"` // the other claims (OIDC Core §5.1)
	// Attributes are those of the setting ATTRIBUTES that the person has.
	Attributes map[string]any `json:"attributes"`
	// Until has the groups that the person leaves by themselves, and when.
	Until          map[string]string `json:"memberships_until,omitempty"`
	HasPassword    bool              `json:"has_password"`
	TOTPSince      string            `json:"authenticator_app_since,omitempty"`
	RecoveryCodes  int               `json:"recovery_codes"`
	Passkeys       []passkeyView     `json:"passkeys"`
	Identities     []identityView    `json:"identities"`
	Sessions       int               `json:"sessions"`
	LastSeenAt     string            `json:"last_seen_at,omitempty"`    // in one of the sessions
	LastSignInAt   string            `json:"last_sign_in_at,omitempty"` // as far as the event log goes back
	RefusedSignIns int64             `json:"refused_sign_ins"`          // in the last 24 hours
	Allowed        []allowedView     `json:"allowed_applications"`
	Owned          []ownedView       `json:"owned_applications"`
}

type passkeyView struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	CreatedAt  string `json:"created_at"`
	LastUsedAt string `json:"last_used_at,omitempty"`
}

// identityView is an account of another server.
type identityView struct {
	Issuer     string `json:"issuer"`
	Subject    string `json:"subject"`
	CreatedAt  string `json:"created_at"`
	LastUsedAt string `json:"last_used_at,omitempty"`
}

// allowedView is an application to which the person has given access.
type allowedView struct {
	ClientID string   `json:"client_id"`
	Name     string   `json:"name"`
	Scopes   []string `json:"scopes"`
	Since    string   `json:"since"`
}

type ownedView struct {
	ClientID string `json:"client_id"`
	Name     string `json:"name"`
	Standing string `json:"standing"`
}

func (p *program) userShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show USERNAME",
		Short: "Show a person: groups, ways to sign in, sessions and applications",
		Args:  arguments("USERNAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withUser(c.Context(), args[0], func(o *opened, u storage.User) error {
				view, err := viewPerson(c.Context(), o.provider, u)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(p.Stdout, view)
				}
				return writeTable(p.Stdout, view.rows())
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func viewPerson(ctx context.Context, from *provider.Provider, u storage.User) (personView, error) {
	view := personView{
		HasPassword: u.Password != "",
		Passkeys:    []passkeyView{},
		Identities:  []identityView{},
		Allowed:     []allowedView{},
		Owned:       []ownedView{},
	}
	for _, add := range []func(context.Context, *provider.Provider, storage.User) error{
		view.addAccount,
		view.addFactors,
		view.addSessions,
		view.addApplications,
	} {
		err := add(ctx, from, u)
		if err != nil {
			return view, err
		}
	}
	return view, nil
}

func (v *personView) addAccount(ctx context.Context, from *provider.Provider, u storage.User) error {
	var err error
	v.userView, err = viewUser(ctx, from, u)
	if err != nil {
		return err
	}
	temporary, err := from.People.Temporary(ctx, "", u.ID)
	if err != nil {
		return err
	}
	v.Until = map[string]string{}
	for _, m := range temporary {
		v.Until[m.Group] = timestamp(m.ExpiresAt)
	}
	v.Profile, err = people.ProfileOf(u)
	if err != nil {
		return err
	}
	v.Attributes, err = from.People.AttributesOf(u)
	return err
}

func (v *personView) addFactors(ctx context.Context, from *provider.Provider, u storage.User) error {
	factors, err := from.People.Factors(ctx, u.ID)
	if err != nil {
		return err
	}
	v.TOTPSince, v.RecoveryCodes = whenSet(factors.TOTPSince), factors.RecoveryCodes
	keys, err := from.Passkeys.Of(ctx, u.ID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		v.Passkeys = append(v.Passkeys, passkeyView{k.ID, k.Name, timestamp(k.CreatedAt), whenSet(k.LastUsedAt)})
	}
	own, err := from.Identities.Of(ctx, u.ID)
	for _, one := range own {
		v.Identities = append(
			v.Identities, identityView{one.Issuer, one.Subject, timestamp(one.CreatedAt), whenSet(one.LastUsedAt)},
		)
	}
	return err
}

func (v *personView) addSessions(ctx context.Context, from *provider.Provider, u storage.User) error {
	sessions, err := from.People.Sessions(ctx, u.ID)
	if err != nil {
		return err
	}
	v.Sessions = len(sessions)
	var seen int64
	for _, session := range sessions {
		seen = max(seen, session.SeenAt)
	}
	v.LastSeenAt = whenSet(seen)
	last, refused, err := from.Events.SignInsOf(ctx, u.ID)
	v.LastSignInAt, v.RefusedSignIns = whenSet(last), refused
	return err
}

func (v *personView) addApplications(ctx context.Context, from *provider.Provider, u storage.User) error {
	allowed, err := from.People.Authorized(ctx, u.ID)
	if err != nil {
		return err
	}
	for _, a := range allowed {
		v.Allowed = append(
			v.Allowed,
			allowedView{a.Application.ClientID, a.Application.Name, append([]string{}, a.Scopes...), timestamp(a.Since)},
		)
	}
	owned, err := from.Clients.OwnedBy(ctx, u.ID)
	for _, a := range owned {
		v.Owned = append(v.Owned, ownedView{a.ClientID, a.Name, string(policy.StandingOf(a))})
	}
	return err
}

// rows shows a person to a person.
func (v personView) rows() [][]string {
	email := dash(v.Email)
	if v.EmailVerified {
		email += " (confirmed)"
	}
	groups := slices.Clone(v.Groups)
	for n, name := range groups {
		if end := v.Until[name]; end != "" {
			groups[n] += " until " + end
		}
	}
	rows := [][]string{
		{"username", v.Username},
		{"id", v.ID},
		{"name", dash(strings.TrimSpace(v.FirstName + " " + v.LastName))},
		{"email", email},
		{"state", v.state()},
		{"administrator", yes(v.Administrator)},
		{"auditor", yes(v.Auditor)},
		{"groups", dash(strings.Join(groups, ", "))},
		{"administers", dash(strings.Join(v.Administers, ", "))},
		{"password", yes(v.HasPassword)},
		{"authenticator app", dash(v.TOTPSince)},
		{"recovery codes", strconv.Itoa(v.RecoveryCodes)},
	}
	for _, name := range slices.Sorted(maps.Keys(v.Attributes)) {
		rows = append(rows, []string{"attribute " + name, fmt.Sprint(v.Attributes[name])})
	}
	for _, k := range v.Passkeys {
		rows = append(rows, []string{"passkey", k.Name})
	}
	for _, one := range v.Identities {
		rows = append(rows, []string{"account of", one.Issuer + " " + one.Subject})
	}
	rows = append(
		rows, []string{"sessions", strconv.Itoa(v.Sessions)}, []string{"last seen", dash(v.LastSeenAt)},
		[]string{"last sign-in", dash(v.LastSignInAt)},
	)
	for _, a := range v.Allowed {
		rows = append(rows, []string{"has allowed", a.ClientID + " (" + a.Name + "): " + strings.Join(a.Scopes, " ")})
	}
	for _, a := range v.Owned {
		rows = append(rows, []string{"owns", a.ClientID + " (" + a.Name + ")"})
	}
	return append(rows, []string{"created", v.CreatedAt})
}
