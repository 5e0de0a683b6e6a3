package telemetry

import "github.com/prometheus/client_golang/prometheus"

// family is a metric as Prometheus reads it and as the documentation lists it.
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

// The families of metrics. Labels have only the values that the source code lists:
// no client, person, address or path.
var (
	buildInfo = family{
		"mandate_build_info",
		gauge,
		[]string{"version", "go_version"},
		"Always 1; the labels contain the version of the program.",
	}

	requestsTotal = family{
		"mandate_http_requests_total",
		counter,
		[]string{"route", "method", "status"},
		"Requests by route pattern, method and class of the status. A request that the client aborted counts as 4xx.",
	}
	requestDuration = family{
		"mandate_http_request_duration_seconds",
		histogram,
		[]string{"route", "method"},
		"Time from the header of a request to the end of the response.",
	}
	tokenRequests = family{
		"mandate_token_requests_total",
		counter,
		[]string{"grant_type", "outcome"},
		"Requests at the token endpoint. The outcome is ok, an OAuth error code, or other.",
	}
	introspections = family{
		"mandate_introspections_total",
		counter,
		[]string{"outcome"},
		"Requests at the introspection endpoint. The token was active or inactive, the caller was refused, or the server " +
			"failed.",
	}
	issuedTotal = family{
		"mandate_tokens_issued_total",
		counter,
		[]string{"kind"},
		"Issued tokens and authorization codes: access, refresh, id, code.",
	}

	dbConnections = family{
		"mandate_db_connections",
		gauge,
		[]string{"pool", "state"},
		"Connections to the database, in_use or idle. SQLite has the pools read and write, PostgreSQL has the pool shared.",
	}
	dbLimit = family{"mandate_db_connections_limit", gauge, []string{"pool"}, "Largest number of connections of a pool."}
	dbWaits = family{
		"mandate_db_connection_waits_total",
		counter,
		[]string{"pool"},
		"Number of times that a connection was not free at once.",
	}
	dbWaited = family{
		"mandate_db_connection_wait_seconds_total",
		counter,
		[]string{"pool"},
		"Total time of waiting for a connection.",
	}

	queueItems = family{
		"mandate_db_write_queue_items",
		gauge,
		nil,
		"Writes that wait to share a commit (SQLite) or a statement (PostgreSQL).",
	}
	queueLimit = family{
		"mandate_db_write_queue_limit",
		gauge,
		nil,
		"Largest number of writes that may wait. Further writes are refused with 503.",
	}
	queueRefused = family{
		"mandate_db_writes_refused_total",
		counter,
		nil,
		"Writes that were refused because too many writes waited.",
	}
	batchItems = family{"mandate_db_write_batch_items", histogram, nil, "Writes that shared a commit or a statement."}

	copyEntries = family{
		"mandate_copies",
		gauge,
		[]string{"record"},
		"Records that this node has cached: application, token, document (a metadata document of a client), logo (of an " +
			"application).",
	}
	copyLookups = family{
		"mandate_copy_lookups_total",
		counter,
		[]string{"record", "result"},
		"Look-ups that the cache answered (hit), or the database or the host of the document or logo (miss).",
	}
	changesHear = family{
		"mandate_changes_heard",
		gauge,
		nil,
		"1 while this node receives notifications about changes by other processes. 0 while it does not, or if it caches " +
			"nothing (MAX_STALENESS_SECONDS: 0).",
	}
	changesLost = family{
		"mandate_changes_lost_total",
		counter,
		nil,
		"Number of times that the connection for these notifications was lost.",
	}

	cleanupRows = family{
		"mandate_cleanup_rows_total",
		counter,
		[]string{"table"},
		"Expired rows that this node deleted.",
	}
	cleanupErrors = family{"mandate_cleanup_errors_total", counter, nil, "Rounds of the clean-up that failed."}
	cleanupLast   = family{
		"mandate_cleanup_last_success_timestamp_seconds",
		gauge,
		nil,
		"Time of the last successful clean-up, by this node or by the one whose turn it was; 0 before the first one.",
	}
	cleanupLag = family{
		"mandate_cleanup_lag_seconds",
		gauge,
		nil,
		"Age of the oldest expired token or grant that is still stored; absent while the database does not answer.",
	}

	clockDifference = family{
		"mandate_clock_difference_seconds",
		gauge,
		nil,
		"By how many seconds the clock of this node is ahead of that of the database (PostgreSQL), or was set forward in " +
			"the last hour (SQLite). With more than 60, in either direction, the node deletes nothing and adds no key, and on " +
			"PostgreSQL it is not ready.",
	}

	hashesRunning = family{
		"mandate_password_hashes_running",
		gauge,
		[]string{"pool"},
		"Passwords that are being hashed, for people on a page or for programs.",
	}
	hashesLimit = family{
		"mandate_password_hashes_limit",
		gauge,
		[]string{"pool"},
		"Largest number of passwords that are hashed at the same time.",
	}
	hashesWaiting = family{
		"mandate_password_hashes_waiting",
		gauge,
		[]string{"pool"},
		"Requests that wait until a password can be hashed.",
	}
	hashesRefused = family{
		"mandate_password_hashes_refused_total",
		counter,
		[]string{"pool"},
		"Requests that were refused because this took too long.",
	}

	documents = family{
		"mandate_metadata_documents_total",
		counter,
		[]string{"outcome"},
		"Metadata documents of clients: fetched, unusable (the fetch or the document was wrong), refused (too many were " +
			"requested).",
	}
	backchannel = family{
		"mandate_backchannel_logouts_total",
		counter,
		[]string{"outcome"},
		"Back-channel logout notifications: told (delivered), failed (one attempt, which is repeated), given_up.",
	}
	mails = family{
		"mandate_mails_total",
		counter,
		[]string{"outcome"},
		"Mail to people: sent, failed (one attempt, which is repeated), given_up.",
	}
	logLost = family{
		"mandate_log_lines_lost_total",
		counter,
		nil,
		"Lines of the log that were lost because its destination took nothing for a second.",
	}
	eventLines = family{
		"mandate_event_lines_total",
		counter,
		[]string{"outcome"},
		"Lines of EVENT_LOG: written, lost (the file or the stream could not be written, or was too slow; the database has " +
			"the events). Absent if it is off.",
	}
)

// families has the order of the documentation.
var families = []family{
	buildInfo,
	requestsTotal,
	requestDuration,
	tokenRequests,
	introspections,
	issuedTotal,
	dbConnections,
	dbLimit,
	dbWaits,
	dbWaited,
	queueItems,
	queueLimit,
	queueRefused,
	batchItems,
	copyEntries,
	copyLookups,
	changesHear,
	changesLost,
	cleanupRows,
	cleanupErrors,
	cleanupLast,
	cleanupLag,
	clockDifference,
	hashesRunning,
	hashesLimit,
	hashesWaiting,
	hashesRefused,
	documents,
	backchannel,
	mails,
	logLost,
	eventLines,
}

func (f family) desc() *prometheus.Desc {
	return prometheus.NewDesc(f.name, f.help, f.labels, nil)
}

func (f family) counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
}
