package command

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/provider/resources"
)

// resourceView is a resource as JSON. No scopes means every scope. No token format, no
// algorithm, and a lifetime of 0 mean those of the application.
type resourceView struct {
	URI           string   `json:"uri"`
	Name          string   `json:"name"`
	Scopes        []string `json:"scopes"`
	TokenFormat   string   `json:"token_format"`
	Lifetime      int64    `json:"access_token_lifetime"`
	Algorithm     string   `json:"algorithm"`
	Introspectors []string `json:"introspectors"`
	Constrained   bool     `json:"sender_constrained"`
	JWTTyp        string   `json:"jwt_typ"`
	Configured    bool     `json:"configured"` // by RESOURCES in the configuration
}

func viewResource(r resources.Resource) resourceView {
	return resourceView{
		URI:           r.URI,
		Name:          r.Name,
		Scopes:        split(r.Scopes),
		TokenFormat:   r.TokenFormat,
		Lifetime:      r.Lifetime,
		Algorithm:     r.Algorithm,
		Introspectors: slices.AppendSeq([]string{}, r.IntrospectorIDs()),
		Constrained:   r.Constrained,
		JWTTyp:        either(r.JWTTyp, resources.TypAccessToken),
		Configured:    r.Configured,
	}
}

func (p *program) showResource(v resourceView, asJSON bool) error {
	if asJSON {
		return writeJSON(p.Stdout, v)
	}
	lifetime, from := "that of the application", "the database"
	if v.Lifetime > 0 {
		lifetime = strconv.FormatInt(v.Lifetime, 10) + " seconds"
	}
	if v.Configured {
		from = "the configuration"
	}
	rows := [][]string{
		{"name", v.Name},
		{"URI", v.URI},
		{"scopes", either(strings.Join(v.Scopes, " "), "all")},
		{"access tokens", either(v.TokenFormat, "as the application's")},
		{"algorithm", either(v.Algorithm, "that of the application")},
		{"lifetime", lifetime},
		{"typ of JWTs", v.JWTTyp},
		{"sender-constrained", yes(v.Constrained)},
		{"introspectors", dash(strings.Join(v.Introspectors[:min(1, len(v.Introspectors))], ""))},
	}
	for _, id := range v.Introspectors[min(
		1, len(v.Introspectors),
	):] { // one a line: a client id can contain spaces and commas
		rows = append(rows, []string{"", id})
	}
	return writeTable(p.Stdout, append(rows, []string{"from", from}))
}

func either(text, empty string) string {
	if text == "" {
		return empty
	}
	return text
}

// resourceFlags are the flags of resource add and resource update.
func resourceFlags() []fieldFlag[resources.Registration] {
	type r = resources.Registration
	return []fieldFlag[r]{
		{"name", "`NAME` that people see", func(r *r) any { return &r.Name }},
		{
			"scope",
			"`SCOPE` of the resource; may be repeated (default: all)",
			func(r *r) any { return (*narrowing)(&r.Scopes) },
		},
		{"token-format", "`FORMAT` of its access tokens: opaque, or jwt (RFC 9068) (default: that of the application)",
			func(r *r) any { return &r.TokenFormat }},
		{
			"access-token-lifetime",
			"longest lifetime of its access tokens in `SECONDS` (default: that of the application)",
			func(r *r) any { return &r.Lifetime },
		},
		{
			"algorithm",
			"`ALGORITHM` that signs its JWT access tokens: " + strings.Join(jose.Algorithms(), ", ") +
				" (default: that of the application)",
			func(r *r) any { return &r.Algorithm },
		},
		{"introspector", "`CLIENT_ID` of an application that may introspect its tokens; may be repeated",
			func(r *r) any { return &r.Introspectors }},
		{
			"sender-constrained",
			"refuse access tokens for it that are not bound to a key or to a certificate of the application (RFC 9449, RFC " +
				"8705)",
			func(r *r) any { return &r.Constrained },
		},
		{
			"jwt-typ",
			"`TYP` of its JWT access tokens: " + resources.TypAccessToken + " (RFC 9068), or " + resources.TypJWT +
				" for an API whose library accepts nothing else (default: " + resources.TypAccessToken + ")",
			func(r *r) any { return &r.JWTTyp },
		},
	}
}

func (p *program) resourceAddCommand() *cobra.Command {
	var said, r resources.Registration
	var asJSON bool
	c := &cobra.Command{
		Use:   "add URI --name NAME",
		Short: "Add a resource: an API that tokens can be issued for",
		Args:  arguments("URI"),
		RunE: func(c *cobra.Command, args []string) error {
			readFlags(c, resourceFlags(), &said, &r)
			if r.Name == "" {
				return wrongUsage("--name is missing: the consent page shows it")
			}
			r.URI = args[0]
			return p.addResource(c.Context(), r, asJSON)
		},
	}
	addFlags(c, resourceFlags(), &said)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) resourceUpdateCommand() *cobra.Command {
	var said resources.Registration
	var asJSON bool
	c := &cobra.Command{
		Use:   "update URI",
		Short: "Change a resource: what its flags name, and nothing else",
		Args:  arguments("URI"),
		RunE: func(c *cobra.Command, args []string) error {
			err := requireChange(c)
			if err != nil {
				return err
			}
			return p.withResource(c.Context(), args[0], func(o *opened, was resources.Resource) error {
				r := registered(was)
				readFlags(c, resourceFlags(), &said, &r)
				err := o.provider.Resources.Change(c.Context(), policy.Operator(), was, r)
				if err != nil {
					return err
				}
				now, err := o.provider.Resources.Resource(c.Context(), policy.Operator(), was.URI)
				if err != nil {
					return err
				}
				return p.showResource(viewResource(now), asJSON)
			})
		},
	}
	addFlags(c, resourceFlags(), &said)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	keepsTheRest(c)
	return c
}

// registered returns the registration of a resource.
func registered(was resources.Resource) resources.Registration {
	return resources.Registration{
		URI:           was.URI,
		Name:          was.Name,
		Scopes:        strings.Fields(was.Scopes),
		TokenFormat:   was.TokenFormat,
		Lifetime:      was.Lifetime,
		Algorithm:     was.Algorithm,
		Introspectors: slices.Collect(was.IntrospectorIDs()),
		Constrained:   was.Constrained,
		JWTTyp:        was.JWTTyp,
	}
}

func (p *program) addResource(ctx context.Context, r resources.Registration, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	made, err := o.provider.Resources.Add(ctx, policy.Operator(), r)
	if err != nil {
		return err
	}
	return p.showResource(viewResource(made), asJSON)
}

func (p *program) resourceListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List all resources", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listResources(c.Context(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) listResources(ctx context.Context, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	found, err := o.provider.Resources.Resources(ctx, policy.Operator())
	if err != nil {
		return err
	}
	views := []resourceView{}
	rows := [][]string{{"URI", "NAME", "SCOPES", "ACCESS TOKENS"}}
	for _, r := range found {
		v := viewResource(r)
		views = append(views, v)
		rows = append(
			rows,
			[]string{v.URI, v.Name, either(strings.Join(v.Scopes, " "), "all"), either(v.TokenFormat, "as the application's")},
		)
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	return writeTable(p.Stdout, rows)
}

// withResource opens the database and finds a resource by its URI.
func (p *program) withResource(ctx context.Context, uri string, use func(*opened, resources.Resource) error) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	r, err := o.provider.Resources.Resource(ctx, policy.Operator(), uri)
	if err == nil {
		err = use(o, r)
	}
	return missing(err, "resource", uri, "resource list")
}

func (p *program) resourceShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show URI", Short: "Show a resource", Args: arguments("URI"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withResource(c.Context(), args[0], func(_ *opened, r resources.Resource) error {
				return p.showResource(viewResource(r), asJSON)
			})
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) resourceDeleteCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "delete URI",
			Short: "Delete a resource, so that it gets no more tokens",
			Args:  arguments("URI"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.withResource(c.Context(), args[0], func(o *opened, r resources.Resource) error {
					err := o.provider.Resources.Delete(c.Context(), policy.Operator(), r.URI)
					if err != nil {
						return err
					}
					return p.done(viewResource(r), "Deleted %s (%s).\n", r.URI, r.Name)
				})
			},
		},
	)
}
