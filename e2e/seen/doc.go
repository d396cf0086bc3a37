// Package seen tries as an operator would whether what goes wrong is seen while it runs: a
// store that is stopped, a lease that is stolen, an entry with a typo, a source near its
// end, and statements that are refused.
package seen
