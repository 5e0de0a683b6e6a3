package mandate

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shortest is the length from which on a secret is searched for. A log may contain a shorter one by chance.
const shortest = 8

// vault is the set of secrets that the nodes of one installation share.
type vault struct {
	mu     sync.Mutex
	values map[string]bool
	names  map[string]bool // those that a test also uses as names

	// forms leads from the first characters of a form of a secret to the rest of the form and to the secret, so that
	// a text is read once and not for each secret. A URL has other forms of a value than a log.
	forms map[string]map[string]string
}

// name says that a value is also used as a name, which an event may have.
func (v *vault) name(value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.names == nil {
		v.names = map[string]bool{}
	}
	v.names[value] = true
}

func (v *vault) isName(value string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.names[value]
}

func (v *vault) add(value string) {
	if len(value) < shortest {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values, v.forms = map[string]bool{}, map[string]map[string]string{}
	}
	if v.values[value] {
		return
	}
	v.values[value] = true
	for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
		begins := form[:shortest]
		if v.forms[begins] == nil {
			v.forms[begins] = map[string]string{}
		}
		v.forms[begins][form[shortest:]] = value
	}
}

func (v *vault) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.values))
}

// within returns the secrets that a text has, each once.
func (v *vault) within(text string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := map[string]bool{}
	for i := range len(text) - shortest + 1 {
		for rest, value := range v.forms[text[i:i+shortest]] {
			if strings.HasPrefix(text[i+shortest:], rest) {
				found[value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestVaultFindsEachFormOfASecret(t *testing.T) {
	t.Parallel()
	v := &vault{}
	for _, secret := range []string{"short", "exactly8", "exactly8 and more", "with / and ü", "12345678"} {
		v.add(secret)
	}
	for text, want := range map[string][]string{
		"":                              nil,
		"short":                         nil,
		"exactly8":                      {"exactly8"},
		"x exactly8 and more":           {"exactly8", "exactly8 and more"},
		"?a=with+%2F+and+%C3%BC&":       {"with / and ü"},
		"/with%20%2F%20and%20%C3%BC":    {"with / and ü"},
		"exactly 8 and more, 1234567":   nil,
		"0123456789012345678 exactly8x": {"12345678", "exactly8"},
	} {
		if got := v.within(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
