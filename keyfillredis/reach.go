package keyfillredis

import "context"

// Reach asks the server for a change that changes nothing, and returns the error. It is
// for "keyfill check".
func (s *store) Reach(ctx context.Context) error {
	_, err := s.ask(ctx, reachScript, s.key("states", "check"))
	return err
}
