package tokens

import (
	"encoding/base64"
	"strings"
	"testing"

	"mandate/provider/seal"
)

func TestRandomTexts(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		for _, prefix := range []string{CodePrefix, AccessPrefix, refreshPrefix} {
			text, sum := NewOpaque(prefix)
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, prefix))
			if err != nil || len(raw) != 32 || !strings.HasPrefix(text, prefix) || sum != seal.Digest(text) || seen[text] {
				t.Fatal(text, sum, err)
			}
			seen[text] = true
		}
	}
}
