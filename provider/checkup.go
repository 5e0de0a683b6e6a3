package provider

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"mandate/provider/checkup"
	"mandate/provider/clients"
	"mandate/provider/errorcode"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// Bounds of what a check reads, so that it takes as long at a server with many applications and people.
const (
	mostCheckedApplications = 200
	mostCheckedPeople       = 5000
	pageOfCheck             = 100
	mostRefusalsChecked     = 3 // of one application
	checkPatience           = 40 * time.Second
)

// Checkup looks at this server from outside and inside, and returns one finding or more for each check, the worst
// first. It calls nothing but the base URL and the mail server of the configuration, and changes nothing.
func (p *Provider) Checkup(ctx context.Context, known ...checkup.Finding) []checkup.Finding {
	ctx, stop := context.WithTimeout(ctx, checkPatience)
	defer stop()
	site := checkup.Site{
		BaseURL:  oauth.BaseURL(p.config.Issuer),
		OpenID:   p.config.OpenID,
		Now:      time.Now,
		Question: p.arrivalQuestion,
		// The operator has chosen the address, so it may be in any network.
		Client: outbound.New(outbound.Config{Networks: []netip.Prefix{
			netip.MustParsePrefix("0.0.0.0/0"),
			netip.MustParsePrefix("::/0"),
		}}).ForLibrary(checkup.Body),
	}
	states, err := p.Keys.States(ctx)
	if err == nil { // without the database, another finding says so
		for _, k := range states {
			site.KeyIDs = append(site.KeyIDs, k.ID)
		}
	}
	found := append(slices.Clone(known), site.Look(ctx)...)
	found = append(found, p.checkDatabase(ctx), p.checkClock(ctx), p.checkMail(ctx))
	if p.config.OpenID {
		found = append(found, p.checkKeys(ctx), p.checkAddresses(ctx))
	}
	found = append(found, p.checkApplications(ctx)...)
	slices.SortStableFunc(found, checkup.Compare)
	return found
}

func finding(check string, weight checkup.Weight, about, text, remedy string) checkup.Finding {
	return checkup.Finding{Check: check, Weight: weight, About: about, Text: text, Remedy: remedy}
}

// unreadable is the finding if the database does not answer.
func unreadable(check string, err error) checkup.Finding {
	return finding(
		check, checkup.Wrong, "", "The database cannot be read: "+err.Error(), "See the finding about the database.",
	)
}

func (p *Provider) checkDatabase(ctx context.Context) checkup.Finding {
	proven := p.probe.begin(p.store.ProveWrite)
	select {
	case <-proven.done:
	case <-ctx.Done():
		return unreadable("database", ctx.Err())
	}
	if proven.err != nil {
		return finding("database", checkup.Wrong, "", "The database does not store what is written: "+proven.err.Error(),
			"Check that the database runs, that its disk has room, and that DATABASE_URL names an account that may write.")
	}
	return finding("database", checkup.Fine, "", "The database stores what is written.", "")
}

func (p *Provider) checkClock(ctx context.Context) checkup.Finding {
	err := p.compareClocks(ctx)
	if err != nil {
		return unreadable("database-clock", err)
	}
	err = p.clock.Err()
	if err != nil {
		return finding(
			"database-clock", checkup.Wrong, "", err.Error(),
			"Set the clocks of both machines by NTP. Until then this node is not ready and cleans nothing up.",
		)
	}
	return finding("database-clock", checkup.Fine, "", "The clocks of this machine and of the database agree.", "")
}

// times says how often something has happened.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (p *Provider) checkMail(ctx context.Context) checkup.Finding {
	if !p.Notices.On() {
		return finding(
			"mail", checkup.Doubtful, "",
			"No mail server is configured: nobody gets a link for a forgotten password, an invitation or an address.",
			"Set SMTP_URL and MAIL_FROM. Until then, mandate user reset-password-link makes a link.",
		)
	}
	err := p.Notices.Check(ctx)
	if err != nil {
		return finding(
			"mail", checkup.Wrong, "", "The mail server does not accept a connection: "+err.Error(),
			"Check the host, the port and the password of SMTP_URL, and the firewall.",
		)
	}
	return finding("mail", checkup.Fine, "", "The mail server accepts a connection.", "")
}

func (p *Provider) checkKeys(ctx context.Context) checkup.Finding {
	states, err := p.Keys.States(ctx)
	if err != nil {
		return unreadable("keys", err)
	}
	active := map[string]bool{}
	for _, s := range states {
		if s.State == "active" {
			active[s.Kind] = true
		}
	}
	switch {
	case len(active) == 0:
		return finding("keys", checkup.Wrong, "", "No key signs now.", "Make a key that signs at once: mandate keys rotate.")
	case !active["RSA"]:
		// OIDC Core §15.1: RS256 is what every library knows.
		return finding(
			"keys", checkup.Doubtful, "",
			"No RSA key signs now, so there is no RS256, which libraries use if nothing else is set.",
			"Make one: mandate keys rotate.",
		)
	}
	return finding("keys", checkup.Fine, "", fmt.Sprintf("%d kinds of keys sign now.", len(active)), "")
}

// checkAddresses counts the people whom applications refuse that need an address: it is absent, or not confirmed.
func (p *Provider) checkAddresses(ctx context.Context) checkup.Finding {
	without, all := 0, 0
	for offset := 0; offset < mostCheckedPeople; offset += pageOfCheck {
		users, total, err := p.People.Users(ctx, "", pageOfCheck, offset)
		if err != nil {
			return unreadable("addresses", err)
		}
		for _, u := range users {
			profile, err := people.ProfileOf(u)
			if err != nil {
				return unreadable("addresses", err)
			}
			if !u.Active {
				continue
			}
			all++
			if u.Email == "" || !profile.EmailVerified {
				without++
			}
		}
		if offset+len(users) >= total || len(users) == 0 {
			return addressFinding(without, all, false)
		}
	}
	return addressFinding(without, all, true)
}

// addressFinding says how many of the people have no usable address. more: there are people who were not counted.
func addressFinding(without, all int, more bool) checkup.Finding {
	first := ""
	if more {
		first = "the first "
	}
	switch {
	case without > 0:
		return finding(
			"addresses",
			checkup.Doubtful,
			"",
			fmt.Sprintf(
				"%d of %s%d people have no confirmed email address. Some applications, such as oauth2-proxy, pgAdmin and "+
					"Keycloak, refuse them.",
				without,
				first,
				all,
			),
			"With a mail server, people confirm their address on their account page. Otherwise: mandate user update USERNAME "+
				"--email ADDRESS --email-verified.",
		)
	case more:
		return finding(
			"addresses",
			checkup.Fine,
			"",
			fmt.Sprintf("The first %d people have a confirmed email address.", all),
			"",
		)
	}
	return finding("addresses", checkup.Fine, "", "All people have a confirmed email address.", "")
}

func (p *Provider) checkApplications(ctx context.Context) []checkup.Finding {
	var found []checkup.Finding
	for offset := 0; offset < mostCheckedApplications; offset += pageOfCheck {
		apps, total, err := p.Clients.Applications(ctx, policy.Operator(), storage.Selection{}, pageOfCheck, offset)
		if err != nil {
			return append(found, unreadable("redirect-uris", err))
		}
		for _, a := range apps {
			found = append(found, checkRedirectURIs(a)...)
			found = append(found, p.checkRefusals(ctx, a, false)...)
		}
		if offset+len(apps) >= total || len(apps) == 0 {
			break
		}
		if offset+pageOfCheck >= mostCheckedApplications {
			found = append(found, finding(
				"redirect-uris", checkup.Doubtful, "",
				fmt.Sprintf("Only %d of %d applications were checked.", mostCheckedApplications, total),
				"The page of each application shows its refused requests.",
			))
		}
	}
	for _, check := range []string{"redirect-uris", "refused-requests"} {
		if !slices.ContainsFunc(found, func(f checkup.Finding) bool { return f.Check == check }) {
			text := map[string]string{
				"redirect-uris":    "The redirect URIs of all applications are safe.",
				"refused-requests": "No request that certainly came from an application was refused in the last seven days.",
			}[check]
			found = append(found, finding(check, checkup.Fine, "", text, ""))
		}
	}
	return found
}

// AboutApplication names an application in a finding.
func AboutApplication(a storage.Application) string { return a.Name + " (" + a.ClientID + ")" }

// checkRedirectURIs checks what an application has registered.
func checkRedirectURIs(a storage.Application) []checkup.Finding {
	var found []checkup.Finding
	change := "mandate application update " + a.ClientID + " --redirect-uri URI"
	if a.RedirectURIs == "" && policy.HasGrant(a, policy.GrantCode) {
		found = append(
			found,
			finding(
				"redirect-uris",
				checkup.Wrong,
				AboutApplication(a),
				"It has no redirect URI, so nobody can sign in to it.",
				"Register one: "+change+".",
			),
		)
	}
	for _, warning := range RedirectWarnings(a) {
		found = append(
			found,
			finding(
				"redirect-uris",
				checkup.Doubtful,
				AboutApplication(a),
				warning,
				"Register another one if the program can: "+change+", or --post-logout-redirect-uri URI.",
			),
		)
	}
	return found
}

// RefusedToStrangers returns what unknown senders have asked for in the name of an application and did not get: the
// application with a wrong secret, or anybody else.
func (p *Provider) RefusedToStrangers(ctx context.Context, a storage.Application) []checkup.Finding {
	return p.checkRefusals(ctx, a, true)
}

// checkRefusals returns what an application has asked for and did not get, or strangers in its name. Those from the
// browsers of people who had signed in come last.
func (p *Provider) checkRefusals(ctx context.Context, a storage.Application, strangers bool) []checkup.Finding {
	refusals, err := p.Refusals.Of(ctx, a)
	if err != nil {
		return []checkup.Finding{unreadable("refused-requests", err)}
	}
	var found []checkup.Finding
	for _, r := range refusals {
		if (r.Sender == events.Stranger) != strangers || r.Error == "" || len(found) == mostRefusalsChecked {
			continue
		}
		from, remedy := "", clients.RemedyOf(r).Text
		if strangers {
			from = ", sender unknown"
		}
		if code, known := errorcode.Find(r.Error); known && remedy == "" {
			remedy = code.Cure
		}
		found = append(found, finding(
			"refused-requests",
			checkup.Doubtful,
			AboutApplication(a),
			fmt.Sprintf(
				"%s: %s (%s, last %s%s)",
				r.Error,
				r.Description,
				times(r.Times),
				time.Unix(r.At, 0).UTC().Format(time.RFC3339),
				from,
			),
			remedy,
		))
	}
	return found
}
