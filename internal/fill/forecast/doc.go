// Package forecast predicts what the driver would do with a query, with a database or
// without one. It changes nothing.
package forecast
