package keyfill_test

import (
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

// TestReasonText: the word that is counted tells the text of the error.
func TestReasonText(t *testing.T) {
	if got := keyfill.Reason("select").Text(); got != rewrite.ErrSelect.Error() {
		t.Errorf("Text = %q, want %q", got, rewrite.ErrSelect.Error())
	}
	if got := keyfill.Reason("no such word").Text(); got != "" {
		t.Errorf("Text of no reason = %q", got)
	}
}
