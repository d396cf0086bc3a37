// Package suites runs the test suites of other projects plain and through keyfill, and
// compares the names of the tests that fail.
//
//	make suites                  all suites of the folder list
//	make suites SUITES='gorp'    some of them
//
// A file of the folder list describes a suite: the module and its version, the package with
// the tests, the engines with the environment that the tests read, the tables that keyfill
// fills, and the tests that are known to differ, with a reason each. The source comes from
// the module proxy. It is copied, gets one file that imports packages below filled, and is
// compiled once: if the environment names a policy, these packages register keyfill around
// a driver under the driver's own name; otherwise they do nothing. Each run has a database
// of its own. Where a test ends the program, the program is started again for the tests
// that have no result.
//
// Some suites cannot be run: GORM 2, bun, and river after v0.23.1 keep their tests in
// modules that the module proxy does not have. GORM 1, GORM's data types and river v0.23.1
// are in the list instead.
//
// TestGotify runs the server of gotify, which goes to keyfill by the steps of keyfill plan.
//
// A run fails if a test differs and is not in the list, if a test in the list does not
// differ, if no test has run, or if no INSERT was filled.
package suites
