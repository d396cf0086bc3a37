// Package harness is the scaffolding of the tests on real engines: Engine is a database
// with one driver in one of its modes, Scratch an empty database of it for one test, and
// Each runs a test for several engines. Servers start when the first test of a package
// needs them, and stop at its end: see Main. Spy and Noting show what passes a wrapper or
// reaches a driver. The rest are policies, statements and rows that the tests of more
// than one folder use.
package harness
