package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/templates"
)

// explainOnce keeps what a member means only where the page shows it first.
func explainOnce(steps []templates.WalkStep) []templates.WalkStep {
	known := map[templates.Fact]bool{}
	for _, step := range steps {
		for i := range step.Tokens {
			token := &step.Tokens[i]
			token.Meanings = slices.DeleteFunc(token.Meanings, func(fact templates.Fact) bool {
				before := known[fact]
				known[fact] = true
				return before
			})
		}
	}
	return steps
}

// decoded adds a JWT, and what its parts mean, to what the page says about it.
func decoded(about templates.WalkToken, text string, known []templates.Fact) templates.WalkToken {
	parts := append(strings.Split(text, "."), "", "")
	header, _ := jose.Decode(parts[0]) // the page shows a part that cannot be read as empty
	claims, _ := jose.Decode(parts[1])
	about.Raw, about.Header, about.Claims = text, pretty(header), pretty(claims)
	there := map[string]any{}
	_ = json.Unmarshal(header, &there)
	_ = json.Unmarshal(claims, &there) // no known JWT has a member in both
	for _, fact := range known {
		if there[fact.Name] != nil {
			about.Meanings = append(about.Meanings, fact)
		}
	}
	return about
}
