package table

import (
	"fmt"
	"sync"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// StatelessSources holds the sources of one database that have no stored state (a counter),
// such as UUIDs. Key columns whose sources have equal settings share one source: their keys
// ascend together, and a glob that matches many tables does not add sources. It is safe for
// concurrent use.
type StatelessSources struct {
	env keysource.Env
	mu  sync.Mutex
	all map[policy.Source]keysource.Source
}

// NewStatelessSources returns an empty set. Its sources are made when they are first
// used.
func NewStatelessSources(env keysource.Env) *StatelessSources {
	return &StatelessSources{env: env, all: map[policy.Source]keysource.Source{}}
}

// get returns the source of a key column whose kind has no stored state (a counter). It
// makes the source on first use.
func (s *StatelessSources) get(k policy.RuleKey) keysource.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := k.Sent()
	if src := s.all[sent]; src != nil {
		return src
	}
	src, err := policy.NewSource(sent, s.env)
	if err != nil {
		// Compile has checked that the source can be made.
		panic(fmt.Sprintf("keyfill: source %q: %v", k.State, err))
	}
	s.all[sent] = src
	return src
}
