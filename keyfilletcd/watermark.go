package keyfilletcd

import (
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// watermark is the greatest revision in the answers of a cluster. The revision in an answer
// is never below the revision in an answer that came before the request, unless the cluster
// was restored from a snapshot or replaced by another cluster.
type watermark struct {
	mu       sync.Mutex
	cluster  uint64
	revision int64
	setbacks int
}

// mark is a copy of the watermark at the time when a request was sent.
type mark struct {
	cluster  uint64
	revision int64
}

func (w *watermark) now() mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mark{w.cluster, w.revision}
}

// note compares the header of an answer with the watermark before the request was sent. A
// request that has written something has a revision of its own.
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

// server returns a text that identifies the cluster, and that changes when the cluster has
// gone back to earlier data.
func (w *watermark) server(incarnation string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%s@%x+%d", incarnation, w.cluster, w.setbacks)
}
