// Package numbering has the kinds of numbers from which keys are made: integers that
// are reserved in blocks, that are drawn in the statement's transaction, that count
// within the values of other columns, or that come from the engine's sequence, from
// leased series, or from the time. Each kind reserves numbers from its state (a stored
// counter), and reports how many it has used.
package numbering
