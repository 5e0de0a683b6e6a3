package telemetry

import "github.com/prometheus/client_golang/prometheus"

// family is a metric, as it is told and as the README has it.
type family struct {
	name   string
	kind   string
	labels []string
	help   string
}

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// The families. No label has more values than the source names: never a
// client, a person, an address or a path.
var (
	buildInfo = family{"mandate_build_info", gauge, []string{"version", "go_version"}, "1, with the version of the program in the labels."}

	requestsTotal   = family{"mandate_http_requests_total", counter, []string{"route", "method", "status"}, "Requests by the pattern of their route, their method and the class of the status; a client that did not wait counts as 4xx."}
	requestDuration = family{"mandate_http_request_duration_seconds", histogram, []string{"route", "method"}, "Time from a request's header to the end of the answer."}
	tokenRequests   = family{"mandate_token_requests_total", counter, []string{"grant_type", "outcome"}, "Requests at the token endpoint; the outcome is ok, an error code of OAuth, or other."}
	introspections  = family{"mandate_introspections_total", counter, []string{"outcome"}, "Requests at the introspection endpoint: the token was active or inactive, the caller was refused, or the server failed."}
	issuedTotal     = family{"mandate_tokens_issued_total", counter, []string{"kind"}, "Tokens and codes that were given out: access, refresh, id, code."}

	dbConnections = family{"mandate_db_connections", gauge, []string{"pool", "state"}, "Connections to the database, in_use or idle. The pools are read and write on SQLite, shared on PostgreSQL."}
	dbLimit       = family{"mandate_db_connections_limit", gauge, []string{"pool"}, "The most connections that a pool may have."}
	dbWaits       = family{"mandate_db_connection_waits_total", counter, []string{"pool"}, "How often somebody had to wait for a connection."}
	dbWaited      = family{"mandate_db_connection_wait_seconds_total", counter, []string{"pool"}, "Time that was spent waiting for a connection."}

	queueItems   = family{"mandate_db_write_queue_items", gauge, nil, "Writes that wait to share a commit (SQLite) or a statement (PostgreSQL)."}
	queueLimit   = family{"mandate_db_write_queue_limit", gauge, nil, "The most writes that may wait; more are refused with 503."}
	queueRefused = family{"mandate_db_writes_refused_total", counter, nil, "Writes that were refused since too many waited."}
	batchItems   = family{"mandate_db_write_batch_items", histogram, nil, "Writes that shared a commit or a statement."}

	copyEntries = family{"mandate_copies", gauge, []string{"record"}, "Records of which this node has a copy: application, token."}
	copyLookups = family{"mandate_copy_lookups_total", counter, []string{"record", "result"}, "Look-ups that found a copy (hit) or asked the database (miss)."}
	changesHear = family{"mandate_changes_heard", gauge, nil, "1 while this node hears what other processes change, 0 while it does not, or keeps no copies (MAX_STALENESS_SECONDS: 0)."}
	changesLost = family{"mandate_changes_lost_total", counter, nil, "How often the way was lost by which changes are heard."}

	cleanupRows   = family{"mandate_cleanup_rows_total", counter, []string{"table"}, "Expired rows that this node removed."}
	cleanupErrors = family{"mandate_cleanup_errors_total", counter, nil, "Rounds of the clean-up that failed."}
	cleanupLast   = family{"mandate_cleanup_last_success_timestamp_seconds", gauge, nil, "When the clean-up last succeeded at this node; 0 before the first time."}
	cleanupLag    = family{"mandate_cleanup_lag_seconds", gauge, nil, "Age of the oldest expired token or grant that is still there; absent while the database does not answer."}

	hashesRunning = family{"mandate_password_hashes_running", gauge, []string{"pool"}, "Passwords that are being hashed, for people at a page or for programs."}
	hashesLimit   = family{"mandate_password_hashes_limit", gauge, []string{"pool"}, "How many may be hashed at once."}
	hashesWaiting = family{"mandate_password_hashes_waiting", gauge, []string{"pool"}, "Requests that wait for a place to hash a password."}
	hashesRefused = family{"mandate_password_hashes_refused_total", counter, []string{"pool"}, "Requests for which there was no such place in time."}

	backchannel = family{"mandate_backchannel_logouts_total", counter, []string{"outcome"}, "Back-channel logouts: told, failed (a call, which is tried again), given_up."}
)

// families is the order of the README.
var families = []family{buildInfo, requestsTotal, requestDuration, tokenRequests, introspections, issuedTotal,
	dbConnections, dbLimit, dbWaits, dbWaited, queueItems, queueLimit, queueRefused, batchItems,
	copyEntries, copyLookups, changesHear, changesLost, cleanupRows, cleanupErrors, cleanupLast, cleanupLag,
	hashesRunning, hashesLimit, hashesWaiting, hashesRefused, backchannel}

func (f family) desc() *prometheus.Desc {
	return prometheus.NewDesc(f.name, f.help, f.labels, nil)
}

func (f family) counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
}
