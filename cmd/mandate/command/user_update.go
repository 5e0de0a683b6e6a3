package command

import (
	"context"

	"github.com/spf13/cobra"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// personFlags are the flags of user add and user update. Most are claims about a person (OIDC Core §5.1).
func personFlags() []fieldFlag[people.Person] {
	type p = people.Person
	return []fieldFlag[people.Person]{
		{"email", "email `ADDRESS`", func(p *p) any { return &p.Email }},
		{"email-verified", "the email address is confirmed", func(p *p) any { return &p.Profile.EmailVerified }},
		{"first-name", "first `NAME`", func(p *p) any { return &p.FirstName }},
		{"last-name", "last `NAME`", func(p *p) any { return &p.LastName }},
		{"group", "`NAME` of a group of which the person is a member; may be repeated", func(p *p) any { return &p.Groups }},
		{"admin", "make the person an administrator", func(p *p) any { return &p.Administrator }},
		{
			"auditor",
			"make the person an auditor, who sees what administrators see and changes nothing",
			func(p *p) any { return &p.Auditor },
		},
		{"middle-name", "middle `NAME`", func(p *p) any { return &p.Profile.MiddleName }},
		{"nickname", "`NAME` for informal use", func(p *p) any { return &p.Profile.Nickname }},
		{"gender", "`GENDER`", func(p *p) any { return &p.Profile.Gender }},
		{
			"birthdate",
			"`DATE` of birth: 1970-12-31, or 0000-12-31 without the year",
			func(p *p) any { return &p.Profile.Birthdate },
		},
		{"zoneinfo", "time `ZONE`, such as Europe/Zurich", func(p *p) any { return &p.Profile.ZoneInfo }},
		{"locale", "language `TAG`, such as de-CH", func(p *p) any { return &p.Profile.Locale }},
		{"phone-number", "phone `NUMBER`, such as +41443334455", func(p *p) any { return &p.Profile.PhoneNumber }},
		{"phone-number-verified", "the phone number is confirmed", func(p *p) any { return &p.Profile.PhoneNumberVerified }},
		{"profile", "`URL` of a page about the person", func(p *p) any { return &p.Profile.Profile }},
		{"picture", "`URL` of an image", func(p *p) any { return &p.Profile.Picture }},
		{"website", "`URL` of the person's own site", func(p *p) any { return &p.Profile.Website }},
		{"address", "whole postal `ADDRESS`, as on a letter", func(p *p) any { return &p.Profile.Address.Formatted }},
		{"street-address", "`STREET` and number", func(p *p) any { return &p.Profile.Address.StreetAddress }},
		{"locality", "`TOWN`", func(p *p) any { return &p.Profile.Address.Locality }},
		{"region", "state or `REGION`", func(p *p) any { return &p.Profile.Address.Region }},
		{"postal-code", "postal `CODE`", func(p *p) any { return &p.Profile.Address.PostalCode }},
		{
			"attribute",
			"`NAME=VALUE` of an attribute of the setting ATTRIBUTES; an empty value removes it; semicolons separate the " +
				"values of a list; may be repeated",
			func(p *p) any { return &p.Attributes },
		},
		{"country", "`COUNTRY`", func(p *p) any { return &p.Profile.Address.Country }},
	}
}

// noPerson is a person of whom nothing is known.
func noPerson() people.Person {
	return people.Person{Profile: &people.Profile{Address: &people.Address{}}}
}

func (p *program) userUpdateCommand() *cobra.Command {
	said := noPerson()
	var asJSON bool
	c := &cobra.Command{Use: "update USERNAME", Short: "Change a person", Args: arguments("USERNAME"),
		Long: `Change a person. What no flag names stays as it is. --group gives the whole list of groups,
and an empty text removes the person from all: group add-member and group remove-member
change one. --administers likewise gives the whole list of groups that the person administers.
--attribute changes only what it names. A flag without a value is switched off with =false,
such as --admin=false.

Another email address or phone number is not confirmed, unless a flag says so. Whoever
becomes an administrator or an auditor is signed out everywhere.

user disable and user enable change whether the person can sign in, user passwd the password.`,
		RunE: func(c *cobra.Command, args []string) error {
			err := requireChange(c)
			if err != nil {
				return err
			}
			return p.updateUser(c.Context(), args[0], asJSON, func(person *people.Person) {
				changed := c.Flags().Changed
				address, number := person.Email, person.Profile.PhoneNumber
				readFlags(c, personFlags(), &said, person)
				if changed("username") {
					person.Username = said.Username
				}
				if changed("administers") {
					person.Administers = oauth.Without(said.Administers, "")
				}
				person.Verified = changed("email-verified") && said.Profile.EmailVerified
				if person.Email != address && !person.Verified {
					person.Profile.EmailVerified = false
				}
				if person.Profile.PhoneNumber != number && !changed("phone-number-verified") {
					person.Profile.PhoneNumberVerified = false
				}
			})
		}}
	addFlags(c, personFlags(), &said)
	c.Flags().StringVar(&said.Username, "username", "", "new `USERNAME`")
	c.Flags().StringArrayVar(&said.Administers, "administers", nil,
		"`NAME` of a group that the person administers; may be repeated")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	keepsTheRest(c)
	return c
}

func (p *program) updateUser(ctx context.Context, username string, asJSON bool, change func(*people.Person)) error {
	return p.withUser(ctx, username, func(o *opened, u storage.User) error {
		u, err := o.provider.People.ChangeUser(ctx, policy.Operator(), u.ID, change)
		if err != nil {
			return err
		}
		view, err := viewUser(ctx, o.provider, u)
		if err != nil {
			return err
		}
		return p.report(asJSON, view, "Changed %s.\n", u.Username)
	})
}
