package storage

import "context"

// Setting reads one of the server's internal values, or returns ErrNotFound.
func (s *Store) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := s.get(ctx, &value, `SELECT value FROM settings WHERE name = $1`, name)
	return value, err
}

// AddSetting stores a value if the name has none yet, and returns the stored value.
func (s *Store) AddSetting(ctx context.Context, name, value string) (string, error) {
	_, err := s.exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, value)
	if err != nil {
		return "", err
	}
	return s.Setting(ctx, name)
}
