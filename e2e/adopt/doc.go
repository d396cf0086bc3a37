// Package adopt holds the tests of bringing keyfill into an application that runs: a
// sequence beside the column's own counter, old and new processes at once, and the way
// back.
package adopt
