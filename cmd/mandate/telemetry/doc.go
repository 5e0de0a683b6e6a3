// Package telemetry makes metrics of the numbers that the other packages keep,
// and traces of what they do. They know neither Prometheus nor OpenTelemetry:
// they count, and call a function where somebody gave them one.
package telemetry
