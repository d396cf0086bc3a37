// Package pages holds the tests of the code in the README and in docs: every block of Go
// is compiled, every policy read, every command of keyfill run and every statement
// executed on the engine that it names.
package pages
