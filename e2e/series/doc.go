// Package series proves the numberings that give numbers back, and the programs of the
// articles on sequential keys, which work on the same state tables as keyfill at the
// same time.
package series
