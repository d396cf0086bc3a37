// Package follow proves that a counter goes on above the keys which others store: keys
// that the application brings itself, keys of the engine, and keys of a program without
// keyfill.
package follow
