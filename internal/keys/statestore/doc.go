// Package statestore opens the stores in which the states of sources are kept: the
// application's own database and the entries of the policy's stores. It watches whether they
// answer, and logs the leases that they give.
package statestore
