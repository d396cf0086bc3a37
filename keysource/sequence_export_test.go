package keysource

// Seams for the mutants of the simulation: what a Sequence must not do.

// Forget forgets what the store has given.
func (s *Sequence) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = 0
}

// DropCurrent is Drop, but for the block that has been fetched already.
func (s *Sequence) DropCurrent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	spare := s.spare
	s.giveUp()
	s.spare = spare
	if s.fetch != nil {
		s.fetch.void = true
	}
}

// DropInHand is Drop, but for the block that is being fetched.
func (s *Sequence) DropInHand() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp()
}

// InHand returns how many integers are left in the block in use.
func (s *Sequence) InHand() int64 { return s.current.Load().left().n }
