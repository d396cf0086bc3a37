package statestore

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/report"
)

// NumberedMark is the mark of a worker (until when it has reserved the time for its
// keys) whose number comes from the policy, the environment or the host. It logs that
// another process has the same number: the mark is then above everything that this
// process has asked for. No key is given twice, but the two processes share the time
// for keys, and requests of both have to wait.
type NumberedMark struct {
	MarkState
	Log    report.Log
	Source string
	Worker int64
	Rivals *report.Paced
	asked  int64 // the highest mark that was asked for; the source makes one call at a time
}

// Mark implements [keysource.Marker].
func (m *NumberedMark) Mark(ctx context.Context, until int64) (int64, error) {
	asked := m.asked
	m.asked = max(asked, until)
	before, err := m.MarkState.Mark(ctx, until)
	if err == nil && asked > 0 && before > asked {
		if count := m.Rivals.Note(); count > 0 {
			m.Log.Write(ctx, report.MessageRival, m.Source, m.Worker, count)
		}
	}
	return before, err
}
