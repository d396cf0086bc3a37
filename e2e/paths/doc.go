// Package paths proves every path by which database/sql executes a statement, through
// every driver and each of its modes: each shape of INSERT, each Go type of argument,
// prepared and not, alone and under load, and that what does not concern keyfill
// reaches the driver unchanged.
package paths
