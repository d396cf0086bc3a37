package statestore

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/store"
)

// peerPatience is how long a look for other servers may take.
const peerPatience = 10 * time.Second

// WarnOfPeers logs once for each store that another server writes into keyfill's tables
// too. It asks in a goroutine of its own, which ends before Close returns, and only if the
// store may have such a server as far as other queries have shown. It is called after a
// number was drawn.
func (s *Stores) WarnOfPeers(log report.Log, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opened[name]
	if s.closed || o == nil || len(o.Engine.TwoWay.Signs) == 0 || o.Peers.AreNone() || o.looked {
		return
	}
	o.looked = true
	ctx, cancel := context.WithTimeout(context.Background(), peerPatience)
	s.endLooks = append(s.endLooks, cancel)
	s.looks.Go(func() {
		defer cancel()
		sign, err := store.TwoWay(ctx, o.Store)
		if err != nil || sign == "" {
			return // keyfill check says what the user may not ask
		}
		if name == "" {
			name = ownStore
		}
		log.Write(ctx, report.MessagePeers, name, sign, "let all programs insert at one server, or name one server as the store of both")
	})
}

// endLooksForPeers ends what WarnOfPeers has begun. The caller does not hold mu.
func (s *Stores) endLooksForPeers() {
	s.mu.Lock()
	for _, end := range s.endLooks {
		end()
	}
	s.mu.Unlock()
	s.looks.Wait()
}
