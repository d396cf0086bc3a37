// Package forecast predicts how the driver would treat a query, with a database or
// without one. It changes nothing.
package forecast
