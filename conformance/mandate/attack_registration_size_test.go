package mandate

import (
	"fmt"
	"net/http"
	"testing"
)

// A stranger registers a client that is as large as the body may be, with the addresses of request
// objects.
func TestAttackLargeRegistration(t *testing.T) {
	attack(t, "memory growth by a stranger", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: []string{"OPEN_CLIENTS: [registration]", "REQUEST_OBJECTS_BY_REFERENCE: true"}})
		addresses := func(n int) member {
			var uris []string
			for i := range n {
				uris = append(uris, fmt.Sprintf("https://tool.example/%0400d", i))
			}
			return member{"redirect_uris": []string{"https://tool.example/back"}, "request_uris": uris}
		}
		a := s.registration(t, nobody, addresses(2))
		if a.Status != http.StatusCreated {
			t.Fatalf("two addresses: %d %s", a.Status, a.Body)
		}
		a = s.registration(t, nobody, addresses(90))
		if err := a.refused(http.StatusBadRequest, "invalid_client_metadata"); err != nil {
			t.Errorf("90 addresses of 400 bytes: %v", err)
		}
	})
}
