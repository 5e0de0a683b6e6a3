package storage

import "context"

// Launch is an application that the start page of a person may list.
type Launch struct {
	Application
	UsedAt int64 `db:"used_at"` // when the person has last signed in there, or 0
}

// Launches reads what people can open.
type Launches struct{ Store *Store }

// Of lists applications that the start page of a person may list: those with an address that an administrator
// answers for, and those that the person owns or gives access. What other people register is not among them: they
// choose its name and its address. The last used ones are first, then it is by name.
func (l Launches) Of(ctx context.Context, userID, search string, now int64, limit int) ([]Launch, error) {
	folded, written := likePatterns(search)
	var found []Launch
	err := l.Store.all(ctx, &found, `WITH used AS (SELECT application_id, generation, MAX(at) AS at FROM (
			SELECT application_id, generation, updated_at AS at FROM consents WHERE user_id = $1
			UNION ALL SELECT application_id, generation, created_at AS at FROM grants WHERE user_id = $1 AND expires_at > $2
				AND (code_digest IS NULL OR code_used_at IS NOT NULL)) each GROUP BY application_id, generation)
		SELECT `+readApplication+`, COALESCE(used.at, 0) AS used_at`+fromApplications+`
		LEFT JOIN used ON used.application_id = a.id AND used.generation = a.generation
		WHERE a.id IN (SELECT id FROM applications WHERE launch_url <> '' UNION SELECT application_id FROM used
			UNION SELECT id FROM applications WHERE owner_id = $1)
		AND (a.launch_url <> '' OR a.metadata LIKE '%client_uri%')
		AND (a.responsible = 'operator' OR a.responsible = 'owner' AND u.active AND (u.administrator OR u.id = $1)
			OR used.at IS NOT NULL AND (a.responsible = 'nobody' OR u.active))
		AND EXISTS (SELECT 1 FROM users u WHERE u.id = $1 AND `+mayBegin("$2")+`)
		AND (LOWER(a.name) LIKE $3 ESCAPE '!' OR a.name LIKE $4 ESCAPE '!' OR LOWER(a.launch_url) LIKE $3 ESCAPE '!')
		ORDER BY used_at DESC, LOWER(a.name), a.id LIMIT $5`, userID, now, folded, written, limit)
	return found, err
}
