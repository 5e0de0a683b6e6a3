package people

import (
	"mandate/provider/oauth"
	"mandate/storage"
)

// AttributeNames returns the names of the attributes that the operator has defined.
func (p *People) AttributeNames() []string { return p.config.Attributes.Names() }

// AttributesOf returns the values that a person has now.
func (p *People) AttributesOf(u storage.User) (map[string]any, error) {
	return p.config.Attributes.Values(u.Attributes)
}

// changedAttributes returns the attributes of a description as the database stores them.
func (p *People) changedAttributes(found *oauth.Invalid, before string, person Person) (string, error) {
	return p.config.Attributes.Change(before, person.Attributes, func(message string) {
		found.Add("attributes", "%s", message)
	})
}
