package store

// Written is written.
var Written = written
