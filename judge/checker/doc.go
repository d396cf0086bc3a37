// Package checker reads queries without a parser of their engine: where Go has
// none (Oracle), and beside those that there are, because they throw comments
// away, do not take all of their engine's grammar, or give no tree.
//
// It was written apart from the rewriter and shares nothing with it: its own table of the
// dialects' words, its own tokens, and an own, coarser idea of what an INSERT is. It
// recognizes rows, columns and brackets; everything else is tokens that have to stay
// unchanged. It accepts more than an engine does.
package checker
