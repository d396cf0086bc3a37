package keys

import "context"

// numberedMark is the mark of a worker whose number the policy, the environment or the host
// says. It tells of another process that has the number too: the mark is above all that this
// one has called for. No key comes twice for it, but the two share the time in which keys can
// be made, and requests of both wait.
type numberedMark struct {
	markState
	log    Log
	source string
	worker int64
	rivals *paced
	asked  int64 // the highest that the mark was called for; the source makes one call at a time
}

func (m *numberedMark) Mark(ctx context.Context, until int64) (int64, error) {
	asked := m.asked
	m.asked = max(asked, until)
	before, err := m.markState.Mark(ctx, until)
	if err == nil && asked > 0 && before > asked {
		if count := m.rivals.note(); count > 0 {
			m.log.Write(ctx, messageRival, m.source, m.worker, count)
		}
	}
	return before, err
}
