// Package checker reads queries without a parser of their engine: where Go has none
// (Oracle), and beside those that there are, because these throw comments away, do not
// accept all of their engine's grammar, or give no tree.
//
// It was written independently of the rewriter and shares nothing with it: it has its own
// table of the dialects' words, its own tokens, and its own, coarser idea of an INSERT. It
// recognizes rows, columns and brackets; everything else is tokens that have to stay
// unchanged. It accepts more than an engine does.
package checker
