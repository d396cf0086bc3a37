// Package fuzz inserts generated statements through keyfill and, with keys made by
// hand, through the driver alone, and compares the tables. "make fuzz" makes new
// ones; without it the tests run the seeds.
package fuzz
