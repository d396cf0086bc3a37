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
// compiled once: these packages give the name of a driver to keyfill around that driver
// where the environment names a policy, and do nothing where it names none. Each run has a
// database of its own. Where a test ends the program, the program is started again for the
// tests that have no result.
//
// Some suites are not on the module proxy: the tests of GORM 2 and of bun are in modules of
// their own, which it does not have, and so are the driver tests of later versions of river.
// The list has GORM 1, the tests of GORM's data types, and river v0.23.1 in their place.
//
// A run fails where a test differs that is not in the list, where a test of the list does
// not differ, where no test has run, and where no INSERT was filled.
package suites
