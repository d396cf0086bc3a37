package relation

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/policy"
)

// NoteOpened logs once with which policy and settings the database was opened.
func NoteOpened(ctx context.Context, db *Tables) {
	if db.logged.opened.Load() || !db.logged.opened.CompareAndSwap(false, true) {
		return
	}
	e := db.AnyEngine()
	name := e.Dialect.Name
	if db.Engine.Load() == nil { // the engine is not known: with the policy's mode off the server is not asked
		name = ""
		for _, one := range db.Candidates {
			name += " or " + one.Dialect.Name
		}
		name = strings.TrimPrefix(name, " or ")
	}
	var file, hash any
	if f, h := db.config.File(); h != "" {
		if hash = h; f != "" {
			file = f
		}
	}
	entries := e.Policy.Entries()
	var kinds []string
	for _, entry := range entries {
		if entry.Rule.Identity {
			kinds = append(kinds, string(policy.KindIdentity))
		}
		for _, k := range entry.Rule.Keys {
			kinds = append(kinds, string(k.Source.Kind))
		}
	}
	slices.Sort(kinds)
	db.Log.Write(ctx, report.MessageOpened, file, hash, name, len(entries), strings.Join(slices.Compact(kinds), " "), policy.Mode(db.Mode.Load()).String())
}
