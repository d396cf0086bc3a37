package keyfillredis

import (
	"context"
	"crypto/rand"
	"math"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/keysource"
)

// store gives access to the states (the stored counters) in one server or cluster. The
// client connects at its first use.
type store struct {
	client redis.UniversalClient
	access access   // how the servers are given; if it is byClient, the client belongs to the program, which closes it
	dials  *dialler // nil if the program's client opens the connections
	prefix string

	name     string        // a random text that identifies this store
	count    atomic.Uint64 // the number of requests that were sent
	closed   atomic.Bool
	answered atomic.Bool // whether the server has answered a request
	looking  atomic.Bool // whether the server was asked for its settings: see look
}

var _ keysource.Store = (*store)(nil)

func newStore(client redis.UniversalClient, by access, prefix string) *store {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return &store{client: client, access: by, prefix: prefix, name: rand.Text()}
}

// dialled returns a store with a client of its own, instead of a client of the program.
func dialled(o *redis.UniversalOptions, by access, prefix string) *store {
	d := &dialler{config: o.TLSConfig}
	o.Dialer = d.dial
	s := newStore(redis.NewUniversalClient(o), by, prefix)
	s.dials = d
	return s
}

// question returns a name for a request that no other request has.
func (s *store) question() string { return s.name + strconv.FormatUint(s.count.Add(1), 10) }

// Close ends the connections of the client, unless it is the program's. The states (stored
// counters) stay in Redis, and leases stay until they expire.
func (s *store) Close() error {
	if s.closed.Swap(true) || s.access == byClient {
		return nil
	}
	return s.client.Close()
}

// key returns the key in a folder that is made of parts, each of which is escaped. Since
// the escaped parts contain no brace, a Redis Cluster computes the slot from the whole key.
func (s *store) key(folder string, parts ...string) string {
	key := s.prefix + folder
	for _, part := range parts {
		key += "/" + url.PathEscape(part)
	}
	return key
}

// counter gives access to one state (a stored counter) of one kind of source.
type counter struct {
	store *store
	state keysource.State
	kind  string
	key   string
	max   int64 // the greatest integer that may be reserved
}

func (s *store) counter(st keysource.State, kind string) *counter {
	// The next integer, which may be one above the greatest, has to be an int64 too.
	return &counter{store: s, state: st, kind: kind, key: s.key("states", st.Name), max: min(st.Max, math.MaxInt64-1)}
}

// ask runs a script on the state. The script reports it if the state (a stored counter) is
// missing.
func (c *counter) ask(ctx context.Context, script *redis.Script, args ...any) (reply, error) {
	return c.askFrom(ctx, script, "", "", args)
}

func (c *counter) askFrom(ctx context.Context, script *redis.Script, first, incarnation string, args []any) (reply, error) {
	r, err := c.store.ask(ctx, script, c.key, append([]any{c.kind, c.state.Parameters, first, incarnation}, args...)...)
	if err == nil {
		err = r.wrong(c.state.Name)
	}
	return r, err
}

// make runs a script that creates the state (a stored counter) if it is missing. Only in
// that case make calls the state's First for its first integer.
func (c *counter) make(ctx context.Context, script *redis.Script, args ...any) (reply, error) {
	r, err := c.ask(ctx, script, args...)
	if err != nil || r.word != "missing" {
		return r, err
	}
	first, err := c.state.First(ctx)
	if err != nil {
		return reply{}, err
	}
	return c.askFrom(ctx, script, decimal(first), rand.Text(), args)
}

// advance raises the state (a stored counter), so that its next integer is to or greater.
func (c *counter) advance(ctx context.Context, to int64) error {
	_, err := c.make(ctx, advanceScript, decimal(to))
	return err
}

// fit returns the greatest integer from which n integers can be reserved; 0 if there is no
// such integer.
func (c *counter) fit(n int64) int64 { return max(c.max-n+1, 0) }

// Reserver returns the access to the state (a stored counter) of a sequence.
func (s *store) Reserver(st keysource.State) keysource.Reserver {
	return &numbers{s.counter(st, "sequence")}
}

// numbers reserves integers from the state (a stored counter) of a sequence.
type numbers struct{ *counter }

// Reserve reserves integers in one script.
func (n *numbers) Reserve(ctx context.Context, want, seen int64) (keysource.Reservation, error) {
	if want < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	r, err := n.make(ctx, reserveScript, decimal(want), decimal(seen), decimal(n.max), decimal(n.fit(want)), decimal(n.max+1))
	if err != nil {
		return keysource.Reservation{}, err
	}
	first, err := r.integer(0)
	switch {
	case err != nil:
		return keysource.Reservation{}, stateError(n.state.Name, err)
	case len(r.texts) < 2:
		return keysource.Reservation{}, errAnswer
	}
	got := keysource.Reservation{First: first, Server: r.texts[1]}
	if left := n.max - first + 1; r.word == "ok" && left < want {
		got.N = left
	}
	return got, nil
}

// Advance raises the state (a stored counter), so that its next integer is to or greater.
func (n *numbers) Advance(ctx context.Context, to int64) error { return n.advance(ctx, to) }

// Marker returns the access to the mark (the time up to which a worker may make keys) of
// one worker.
func (s *store) Marker(st keysource.State, worker int64, owner string) keysource.Marker {
	return &marker{store: s, state: st, owner: owner, key: s.key("marks", st.Name, strconv.FormatInt(worker, 10))}
}

// marker raises the mark of one worker: the time up to which the worker may make keys.
type marker struct {
	store *store
	state keysource.State
	owner string
	key   string
}

// Mark raises the mark (the time up to which a worker may make keys) in one script.
func (m *marker) Mark(ctx context.Context, until int64) (before int64, err error) {
	r, err := m.store.ask(ctx, markScript, m.key, m.state.Parameters, decimal(until), m.owner)
	if err == nil {
		err = r.wrong(m.state.Name)
	}
	if err != nil {
		return 0, err
	}
	if before, err = r.integer(0); err != nil {
		return 0, stateError(m.state.Name, err)
	}
	return before, nil
}

// Bind notes which state (a stored counter) numbers a column, in a script that writes
// nothing if another state numbers the column already.
func (s *store) Bind(ctx context.Context, st keysource.State, column string) error {
	r, err := s.ask(ctx, bindScript, s.key("columns", column), st.Name, st.Parameters)
	if err != nil {
		return err
	}
	switch r.word {
	case "taken":
		return stateError(st.Name, errTaken)
	case "parameters":
		return stateError(st.Name, errBinding)
	}
	return r.wrong(st.Name)
}
