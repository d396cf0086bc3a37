// Package counter keeps one counter for each state that the process draws from. It makes a
// counter when the first key is drawn, after its column was claimed and its state opened, and
// closes it when the table is gone.
package counter
