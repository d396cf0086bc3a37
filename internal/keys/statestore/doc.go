// Package statestore opens the stores that keep the states of sources (the stored
// counters): the application's own database, and the stores that the policy names. It
// watches whether they answer, and logs the leases that they give.
package statestore
