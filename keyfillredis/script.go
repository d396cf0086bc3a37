package keyfillredis

import (
	"context"
	"embed"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/keysource"
)

// Each change of a store is one script, which the server runs alone, from its beginning to
// its end. A script compares what it changes and changes one hash by one command, so that
// neither a kill of the server nor a connection that breaks leaves a part of it. A script that
// is sent twice reserves twice, which is a gap, or finds that it has happened.

//go:embed lua
var texts embed.FS

var (
	reserveScript  = script("question", "state", "reserve")
	advanceScript  = script("question", "state", "advance")
	ownScript      = script("question", "state", "series", "allrows", "own")
	moveScript     = script("question", "state", "series", "onerow", "move")
	takeOverScript = script("question", "state", "series", "allrows", "takeover")
	openScript     = script("question", "state", "series", "allrows", "open")
	giveUpScript   = script("question", "state", "series", "onerow", "giveup")
	markScript     = script("question", "mark")
	bindScript     = script("question", "bind")
	reachScript    = script("question", "reach")
)

// script returns the script that is made of the named files.
func script(names ...string) *redis.Script {
	text := ""
	for _, name := range names {
		part, err := texts.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // an error is impossible, since the file is embedded in this package
		}
		text += string(part)
	}
	return redis.NewScript(text)
}

// reply is the answer of a script: a word, and texts that follow it.
type reply struct {
	word  string
	texts []string
}

// integer returns one of the texts as an integer, which must not be negative.
func (r reply) integer(i int) (int64, error) {
	if i >= len(r.texts) {
		return 0, errAnswer
	}
	n, err := strconv.ParseInt(r.texts[i], 10, 64)
	if err != nil || n < 0 {
		return 0, errValue
	}
	return n, nil
}

// wrong returns the error about a state (a stored counter) that a script has reported by a
// word alone; nil if the script has reported no such error.
func (r reply) wrong(name string) error {
	switch r.word {
	case "kind":
		return stateError(name, errKind)
	case "parameters":
		return stateError(name, errParameters)
	case "value":
		return stateError(name, errValue)
	case "uncounted":
		return stateError(name, errUncounted)
	case "exhausted":
		return keysource.ErrExhausted
	}
	return nil
}

// decimal writes an integer as the scripts read it. A negative integer is written as 0:
// both are less than all integers that the scripts compare them with.
func decimal(n int64) string { return strconv.FormatInt(max(n, 0), 10) }

// ask runs a script on one key. After an error the script may have run.
func (s *store) ask(ctx context.Context, script *redis.Script, key string, args ...any) (reply, error) {
	if s.closed.Load() {
		return reply{}, errClosed
	}
	question := s.question()
	type result struct {
		texts []string
		err   error
	}
	done := make(chan result, 1)
	go func() { // run the script in a goroutine, since the client does not notice when ctx is cancelled
		texts, err := script.Run(ctx, s.client, []string{key}, append([]any{question}, args...)...).StringSlice()
		done <- result{texts, err}
	}()
	var got result
	select {
	case <-ctx.Done():
		return reply{}, s.dials.late(ctx.Err())
	case got = <-done:
	}
	switch {
	case got.err != nil:
		return reply{}, s.meaning(ctx, got.err)
	case len(got.texts) < 2 || got.texts[0] != question:
		return reply{}, errAnswer
	}
	s.answered.Store(true)
	s.look(ctx)
	return reply{got.texts[1], got.texts[2:]}, nil
}
