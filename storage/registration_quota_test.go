package storage

import "testing"

// A large quota is not counted exactly at each registration. It holds all the same.
func TestLargeQuotaOfRegistrationsHolds(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		const most = 5000
		register := func(s *Store, name string, most int) error {
			_, err := s.RegisterApplication(t.Context(), newRegistered(name, name), most, "", at)
			return err
		}
		must(t, register(w.Store, "first", most))
		// As many as registrations may make of the quota, without the first one.
		_, err := w.exec(t.Context(), `INSERT INTO applications (id, client_id, name, client_type, grant_types, redirect_uris,
			scopes, hash_client_secret, secret, old_secret, old_secret_expires_at,
			may_introspect, skip_consent, pkce_exempt, access_token_lifetime, refresh_token_lifetime, created_at, updated_at,
				responsible, origin)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			SELECT id || i, client_id || i, name, client_type, grant_types, redirect_uris, scopes, hash_client_secret, secret,
				old_secret, old_secret_expires_at,
			may_introspect, skip_consent, pkce_exempt, access_token_lifetime, refresh_token_lifetime, created_at, updated_at,
				responsible, origin FROM applications, n`, most-most/4-2)
		must(t, err)
		another := opened(t, w.url) // w.Store counted a moment ago
		must(t, register(another, "the last one", most))
		is(t, "beyond the quota", register(another, "one more", most), ErrFull)
		must(t, register(another, "one more", 2*most))
	})
}
