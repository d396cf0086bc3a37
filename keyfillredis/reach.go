package keyfillredis

import "context"

// Reach returns an error if the store cannot be used. It runs a script that changes
// nothing. "keyfill check" calls it.
func (s *store) Reach(ctx context.Context) error {
	_, err := s.ask(ctx, reachScript, s.key("states", "check"))
	return err
}
