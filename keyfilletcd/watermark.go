package keyfilletcd

import (
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// watermark is the greatest revision that a cluster has answered with. The revision of an
// answer is never below the one of an answer that came before the question, unless the
// cluster was restored from a snapshot, or is another one.
type watermark struct {
	mu       sync.Mutex
	cluster  uint64
	revision int64
	setbacks int
}

// mark is the known state when a question was sent.
type mark struct {
	cluster  uint64
	revision int64
}

func (w *watermark) now() mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mark{w.cluster, w.revision}
}

// note takes the header of the answer to a question that was sent at before. One that has
// written has a revision of its own.
func (w *watermark) note(before mark, h *etcdserverpb.ResponseHeader, wrote bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch back := h.Revision < before.revision || wrote && h.Revision == before.revision; {
	case h.ClusterId != w.cluster, back && w.revision >= before.revision:
		if w.cluster != 0 && back {
			w.setbacks++
		}
		w.cluster, w.revision = h.ClusterId, h.Revision
	case !back:
		w.revision = max(w.revision, h.Revision)
	}
}

// server names the cluster, and how often it was seen to go back.
func (w *watermark) server(incarnation string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%s@%x+%d", incarnation, w.cluster, w.setbacks)
}
