package counting

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
	s.discard()
}

// InHand returns how many integers are left in the block in use.
func (s *Sequence) InHand() int64 { return s.current.Load().left().n }

// TakeLater returns a call that takes an integer from the block that is in use
// now, as a request does that has been interrupted between the two.
func (s *Sequence) TakeLater() func() bool {
	b := s.current.Load()
	return func() bool {
		_, ok := b.take(1)
		return ok
	}
}

// Saw makes to the end of what the store has given.
func (s *Sequence) Saw(to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = max(s.seen, to)
}

// ForgetOrder forgets where the last reservation on any connection has ended.
func (s *Sequence) ForgetOrder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.end = 0
}

// ForgetGiven forgets what was reserved on other connections meanwhile.
func (s *Sequence) ForgetGiven() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.given = nil
}
