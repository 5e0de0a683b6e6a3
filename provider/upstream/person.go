package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/oauth2"
)

// Person is what another server says about a person. Issuer and Subject together identify the person;
// nothing else does (OIDC Core §5.7).
type Person struct {
	Issuer, Subject string

	Email                 string
	EmailVerified         bool // the other server says so about Email
	EmailUnsaid           bool // it says nothing about that
	GivenName, FamilyName string
	Name                  string // the whole name
	ACR                   string
	AuthTime              int64 // when the person signed in there; 0: it is unknown

	claims claims
}

// claims are the claims of an ID token or of a UserInfo response.
type claims map[string]any

func (c claims) text(name string) string {
	text, _ := c[name].(string)
	return text
}

func (c claims) subject() string { return c.text("sub") }

// Values returns the texts in a claim: a list, or one text.
func (p Person) Values(claim string) []string {
	switch value := p.claims[claim].(type) {
	case string:
		return []string{value}
	case []any:
		var texts []string
		for _, one := range value {
			if text, ok := one.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}

// verified reports whether a server says that it has verified the address, and whether it says nothing about that.
//
// OIDC Core §5.1: email_verified is true or false. Amazon Cognito and Apple send it as text. Entra ID does not know it,
// and has xms_edov: whether the owner of the domain of the address has been verified.
func (c claims) verified() (yes, unsaid bool) {
	if said := c["email_verified"]; said != nil {
		return said == true || said == "true", false
	}
	if said := c["xms_edov"]; said != nil {
		return said == true || said == "true" || said == 1.0 || said == "1", false
	}
	return false, true
}

// person puts the claims together. Those of the ID token, which is signed, take precedence.
func (s *Server) person(said, more claims) Person {
	// The address and whether it is verified come from the same place.
	address := said
	if said.text("email") == "" {
		address = more
	}
	all := claims{}
	for name, value := range more {
		all[name] = value
	}
	for name, value := range said {
		all[name] = value
	}
	verified, unsaid := address.verified()
	if unsaid && strings.EqualFold(address.text("email"), more.text("email")) {
		verified, unsaid = more.verified()
	}
	p := Person{Issuer: s.config.Issuer, Subject: said.subject(), Email: address.text("email"), EmailVerified: verified,
		EmailUnsaid: unsaid,
		GivenName:   all.text("given_name"), FamilyName: all.text("family_name"), Name: all.text("name"),
		ACR:    said.text("acr"),
		claims: all}
	if at, ok := said["auth_time"].(float64); ok && at > 0 && at < 1<<52 {
		p.AuthTime = int64(at)
	}
	return p
}

// userInfo reads the claims that the ID token may lack: in the code flow, OIDC Core §5.4 returns those
// of the scopes profile and email from the UserInfo endpoint.
func userInfo(ctx context.Context, found *discovered, token *oauth2.Token, subject string) (claims, error) {
	if found.provider.UserInfoEndpoint() == "" {
		return nil, nil
	}
	answer, err := found.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, &Unreachable{fmt.Errorf("read the UserInfo response: %s", clip(withoutURL(err).Error()))}
	}
	// OIDC Core §5.3.2: the response may be about another person.
	if answer.Subject != subject {
		return nil, errors.New("the UserInfo response is about another person: its sub differs")
	}
	var more claims
	err = answer.Claims(&more)
	if err != nil {
		return nil, fmt.Errorf("read the UserInfo response: %w", err)
	}
	return more, nil
}
