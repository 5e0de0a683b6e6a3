package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider/policy"
	"mandate/provider/registration"
	"mandate/storage"
)

// initialTokenView is an initial access token as JSON. Token is set only when it is made.
// No scopes means those of the standing open, and no resources any resource.
type initialTokenView struct {
	ID        string   `json:"id"`
	Token     string   `json:"token,omitempty"`
	MadeBy    string   `json:"made_by"` // a username; empty: the operator
	May       []string `json:"may"`
	Scopes    []string `json:"scopes"`
	Resources []string `json:"resources"`
	UsesLeft  int64    `json:"uses_left"`
	ExpiresAt string   `json:"expires_at"`
	Usable    bool     `json:"usable"`
}

func viewInitialToken(i storage.InitialToken, text string) (initialTokenView, error) {
	limits, err := registration.ParseLimits(i.Limits)
	v := initialTokenView{
		ID:        i.ID,
		Token:     text,
		May:       registration.MayOf(limits),
		Scopes:    limits.Scopes,
		Resources: split(i.Resources),
		UsesLeft:  i.UsesLeft,
		ExpiresAt: timestamp(i.ExpiresAt),
		Usable:    registration.UsableInitialToken(i),
	}
	if v.Scopes == nil {
		v.Scopes = []string{}
	}
	if i.Maker != nil {
		v.MadeBy = *i.Maker
	}
	return v, err
}

func (p *program) registrationTokenAddCommand() *cobra.Command {
	var r registration.NewInitialToken
	var may []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "add",
		Short: "Make an initial access token, with which applications register themselves",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, list := range may {
				r.May = append(r.May, strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })...)
			}
			return p.addInitialToken(c.Context(), r, asJSON)
		},
	}
	f := c.Flags()
	f.Int64Var(&r.Uses, "uses", 1, "`NUMBER` of applications that can be registered with it")
	r.Lifetime = aDay
	f.Var((*duration)(&r.Lifetime), "expires", "`DURATION` after which it expires, such as 12h or 7d")
	f.StringArrayVar(
		&may,
		"may",
		nil,
		"grant types that can be registered, and introspection: a `LIST` with commas (default: authorization_code); may be "+
			"repeated",
	)
	f.Var(
		(*words)(&r.Scopes),
		"scope",
		"`SCOPE` that can be registered; may be repeated (default: those that an application may have without a token: "+
			"DEFAULT_SCOPES, openid and offline_access)",
	)
	f.StringArrayVar(
		&r.Resources,
		"resource",
		nil,
		"`URI` of a resource; the applications get tokens for no other, and the first is their default; may be repeated",
	)
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) addInitialToken(ctx context.Context, r registration.NewInitialToken, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	if !o.provider.Registers() {
		return errors.New("the registration endpoint is disabled, so nobody could use the token: set " +
			"REGISTRATION_WITH_TOKEN: true")
	}
	made, text, err := o.provider.Registrations.AddInitialToken(ctx, policy.Operator(), r)
	if err != nil {
		return err
	}
	v, err := viewInitialToken(made, text)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(p.Stdout, v)
	}
	err = writeTable(p.Stdout, [][]string{
		{"id", v.ID},
		{"token", v.Token},
		{"may", strings.Join(v.May, " ")},
		{"scopes", either(strings.Join(v.Scopes, " "), "default")},
		{"resources", either(strings.Join(v.Resources, " "), "any")},
		{"uses", strconv.FormatInt(v.UsesLeft, 10)},
		{"expires", v.ExpiresAt},
	})
	if err == nil {
		_, err = fmt.Fprintln(p.Stdout, "The token is not shown again.")
	}
	return err
}

func (p *program) registrationTokenListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List the initial access tokens", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listInitialTokens(c.Context(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) listInitialTokens(ctx context.Context, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	found, err := o.provider.Registrations.InitialTokens(ctx, policy.Operator())
	if err != nil {
		return err
	}
	views := []initialTokenView{}
	rows := [][]string{{"ID", "MADE BY", "MAY", "USES LEFT", "EXPIRES", "WORKS"}}
	for _, i := range found {
		v, err := viewInitialToken(i, "")
		if err != nil {
			return err
		}
		works := "yes"
		if !v.Usable {
			works = "no"
		}
		views = append(views, v)
		rows = append(
			rows,
			[]string{
				v.ID,
				either(v.MadeBy, "the operator"),
				strings.Join(v.May, " "),
				strconv.FormatInt(v.UsesLeft, 10),
				v.ExpiresAt,
				works,
			},
		)
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	return writeTable(p.Stdout, rows)
}

// deletedView is a deleted initial access token as JSON.
type deletedView struct {
	ID string `json:"id"`
}

func (p *program) registrationTokenDeleteCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "delete ID",
			Short: "Delete an initial access token; its applications stay",
			Args:  arguments("ID"),
			RunE: func(c *cobra.Command, args []string) error {
				o, err := p.open(c.Context(), app.ToUse)
				if err != nil {
					return err
				}
				defer o.store.Close()
				err = o.provider.Registrations.DeleteInitialToken(c.Context(), policy.Operator(), args[0])
				if err != nil {
					return missing(err, "initial access token", args[0], "registration-token list")
				}
				return p.done(deletedView{args[0]}, "Deleted %s.\n", args[0])
			},
		},
	)
}
