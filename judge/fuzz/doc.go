// Package fuzz makes texts of SQL from bytes, so that a fuzzer that mutates bytes mutates
// statements: most of them are the engine's SQL, and those that are not are nearly so. Its
// tests give the texts to keyfill, and keyfill's answers to the engines' own parsers.
package fuzz
