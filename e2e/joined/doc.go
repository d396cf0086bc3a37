// Package joined proves that keys which are drawn in the transaction of the application
// have no gaps: a number and its row commit together or not at all, whatever ends the
// transaction, and also where the numbers start again in each scope.
package joined
