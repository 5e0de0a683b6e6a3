package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/sites"
	"mandate/storage"
)

// siteView is a site as JSON.
type siteView struct {
	ClientID    string   `json:"client_id"`
	Name        string   `json:"name"`
	Hosts       []string `json:"hosts"`
	PublicPaths []string `json:"public_paths"`
	Assertion   bool     `json:"assertion"`
	Suspended   bool     `json:"suspended"`
	RequiredACR string   `json:"required_acr"`
}

func viewSite(s storage.Site) siteView {
	return siteView{s.ClientID, s.Name, s.Hosts, append([]string{}, oauth.Lines(s.PublicPaths)...), s.Assertion,
		s.Suspended, s.RequiredACR}
}

func (p *program) showSite(v siteView, asJSON bool) error {
	if asJSON {
		return writeJSON(p.Stdout, v)
	}
	return writeTable(p.Stdout, [][]string{
		{"name", v.Name},
		{"client id", v.ClientID},
		{"hosts", strings.Join(v.Hosts, " ")},
		{"public paths", dash(strings.Join(v.PublicPaths, " "))},
		{"signed assertion", yes(v.Assertion)},
		{"suspended", yes(v.Suspended)},
		{"required login", either(v.RequiredACR, "any")},
	})
}

// siteFlags are the flags of site add and site update.
func siteFlags() []fieldFlag[sites.Registration] {
	type r = sites.Registration
	return []fieldFlag[r]{
		{"host", "`HOST` or HOST:PORT at which browsers open the site; may be repeated",
			func(r *r) any { return (*words)(&r.Hosts) }},
		{"public-path", "`PREFIX` of paths that need no sign-in, such as /static/; may be repeated",
			func(r *r) any { return (*words)(&r.PublicPaths) }},
		{"assertion", "send the header X-Mandate-Assertion: a JWT about the person, for programs that can check it",
			func(r *r) any { return &r.Assertion }},
		{"suspended", "let in nobody, and keep what the site has", func(r *r) any { return &r.Suspended }},
	}
}

func (p *program) siteAddCommand() *cobra.Command {
	var said, r sites.Registration
	var asJSON bool
	c := &cobra.Command{
		Use:   "add NAME --host HOST",
		Short: "Add a site: an application without OpenID Connect, behind a reverse proxy that asks this server",
		Args:  arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			readFlags(c, siteFlags(), &said, &r)
			if len(r.Hosts) == 0 {
				return wrongUsage("--host is missing: the host at which browsers open the site")
			}
			r.Name = args[0]
			return p.withDatabase(c.Context(), func(o *opened) error {
				made, err := o.provider.Sites.Add(c.Context(), policy.Operator(), r)
				if err != nil {
					return err
				}
				return p.showSite(viewSite(made), asJSON)
			})
		},
	}
	addFlags(c, siteFlags(), &said)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) siteUpdateCommand() *cobra.Command {
	var said sites.Registration
	var asJSON bool
	c := &cobra.Command{
		Use:   "update CLIENT_ID",
		Short: "Change a site: what its flags name, and nothing else",
		Args:  arguments("CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			err := requireChange(c)
			if err != nil {
				return err
			}
			return p.withDatabase(c.Context(), func(o *opened) error {
				now, err := o.provider.Sites.Change(c.Context(), policy.Operator(), args[0],
					func(r *sites.Registration) { readFlags(c, siteFlags(), &said, r) })
				if err != nil {
					return missing(err, "site", args[0], "site list")
				}
				return p.showSite(viewSite(now), asJSON)
			})
		},
	}
	addFlags(c, siteFlags(), &said)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	keepsTheRest(c)
	return c
}

func (p *program) siteListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List all sites", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withDatabase(c.Context(), func(o *opened) error {
				found, err := o.provider.Sites.Sites(c.Context(), policy.Operator())
				if err != nil {
					return err
				}
				views := []siteView{}
				rows := [][]string{{"NAME", "CLIENT ID", "HOSTS"}}
				for _, s := range found {
					v := viewSite(s)
					views = append(views, v)
					rows = append(rows, []string{v.Name, v.ClientID, strings.Join(v.Hosts, " ")})
				}
				if asJSON {
					return writeJSON(p.Stdout, views)
				}
				return writeTable(p.Stdout, rows)
			})
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) siteShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show CLIENT_ID", Short: "Show a site", Args: arguments("CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withSite(c.Context(), args[0], func(_ *opened, s storage.Site) error {
				return p.showSite(viewSite(s), asJSON)
			})
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) siteDeleteCommand() *cobra.Command {
	return p.withJSON(&cobra.Command{
		Use:   "delete CLIENT_ID",
		Short: "Delete a site with its application: nobody gets in any more",
		Args:  arguments("CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withSite(c.Context(), args[0], func(o *opened, s storage.Site) error {
				err := o.provider.Sites.Delete(c.Context(), policy.Operator(), s.ClientID)
				if err != nil {
					return err
				}
				return p.done(viewSite(s), "Deleted %s (%s).\n", s.Name, strings.Join(s.Hosts, " "))
			})
		},
	})
}

// withSite opens the database and finds a site by its client id.
func (p *program) withSite(ctx context.Context, clientID string, use func(*opened, storage.Site) error) error {
	return p.withDatabase(ctx, func(o *opened) error {
		found, err := o.provider.Sites.Site(ctx, policy.Operator(), clientID)
		if err == nil {
			err = use(o, found)
		}
		return missing(err, "site", clientID, "site list")
	})
}

func (p *program) withDatabase(ctx context.Context, use func(*opened) error) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	return use(o)
}
