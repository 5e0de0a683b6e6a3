// Package telemetry exports the numbers that the other packages count as metrics,
// and the times of their work as traces. Those packages import neither Prometheus
// nor OpenTelemetry: they count, and call a function if one is set.
package telemetry
