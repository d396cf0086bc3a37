package statestore

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/report"
)

// NumberedMark is the mark of a worker whose number comes from the policy, the environment or
// the host. It logs that another process has the number too: the mark is then above all that
// this one has called for. No key comes twice for it, but the two share the time in which keys
// can be made, and requests of both wait.
type NumberedMark struct {
	MarkState
	Log    report.Log
	Source string
	Worker int64
	Rivals *report.Paced
	asked  int64 // the highest that the mark was called for; the source makes one call at a time
}

// Mark is the method of [keysource.Marker].
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
