package storage

// rewriteClaims changes the claim rules of all applications, in the way in which the caller reads and writes them.
func (t tx) rewriteClaims(change func(rules string) (string, error)) error {
	ids, err := t.texts(`SELECT id FROM applications WHERE claims <> ''`)
	for _, id := range ids {
		var was, now string
		if err == nil {
			err = t.get(&was, `SELECT claims FROM applications WHERE id = $1`, id)
		}
		if err == nil {
			now, err = change(was)
		}
		if err == nil && now != was {
			t.changed(OfApplication, id)
			err = t.spend(`UPDATE applications SET claims = $3, version = version + 1
				WHERE id = $1 AND claims = $2`, id, was, now)
		}
	}
	return err
}
