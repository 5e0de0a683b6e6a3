package authorize

import (
	"testing"
	"time"

	"mandate/provider/policy"
	"mandate/storage"
)

// FAPI 2.0 Security Profile §5.3.2.1: a code lasts at most 60 seconds.
func TestCodeLifetime(t *testing.T) {
	for _, test := range []struct {
		configured time.Duration
		profile    string
		want       int64
	}{{time.Minute * 2, "", 120}, {time.Minute * 2, policy.ProfileFAPI, 60}, {time.Minute * 2, policy.ProfileMessages, 60},
		{time.Second * 30, policy.ProfileFAPI, 30}} {
		p := &Authorizations{config: Config{CodeLifetime: test.configured}}
		if got := p.codeLifetime(storage.Application{Profile: test.profile}); got != test.want {
			t.Errorf("%v, profile %q: %d seconds, want %d", test.configured, test.profile, got, test.want)
		}
	}
}
