// Package counter keeps one counter for each state (a counter that is stored under a
// name) from which this process draws numbers. It makes a counter when the first key is
// drawn, after it has claimed the column and opened the state, and closes it when the
// table is gone.
package counter
