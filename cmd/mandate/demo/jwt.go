package demo

import (
	"encoding/json"
	"strings"

	"mandate/provider/jose"
	"mandate/templates"
)

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
