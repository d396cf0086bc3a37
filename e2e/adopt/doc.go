// Package adopt holds the tests of bringing keyfill into an application that runs, and
// out of it again: a sequence beside the column's own counter, and the steps that keyfill
// plan prints, executed while processes with and without keyfill insert. The processes
// are processes of the operating system.
package adopt
