// Command linear measures what it costs to compile and to bind texts, for
// TestLinear of package compile.
package main

import (
	"database/sql/driver"
	"log"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/steps"
)

// question is a text to compile. Targets are the configured tables, by their folded name.
type question struct {
	Dialect string
	Targets map[string]*plans.Target
	Text    steps.Text
}

func main() {
	if err := steps.Answer(func(q question) (steps.Text, func(string)) {
		d, err := dialect.ByName(q.Dialect)
		if err != nil {
			log.Fatal(err)
		}
		return q.Text, func(text string) { execute(d, q.lookup(), text) }
	}); err != nil {
		log.Fatal(err)
	}
}

// lookup finds the targets, each also under its name with the number of a repetition.
func (q question) lookup() plans.Lookup {
	found := map[string]*plans.Target{}
	return func(schema, table string) *plans.Target {
		if t := q.Targets[schema+"."+table]; t != nil {
			return t
		}
		if t := q.Targets[table]; t != nil {
			return t
		}
		if t := found[table]; t != nil {
			return t
		}
		if name := max(0, len(table)-steps.Digits); strings.Trim(table[name:], "0123456789") != "" {
			return nil
		} else if t := q.Targets[table[:name]]; t != nil {
			numbered := *t
			numbered.Table = table
			found[table] = &numbered
			return &numbered
		}
		return nil
	}
}

// execute compiles a text and takes what an execution takes from its plan.
func execute(d *dialect.Dialect, lookup plans.Lookup, text string) {
	p := compile.Query(d, lookup, text)
	switch p.Action {
	case plans.Pass:
		return
	case plans.Refuse:
		_ = p.Refusal.Error()
		return
	}
	bind.Text(p, false)
	bind.Places(p, false)
	h := bind.AssumedHoles(p)
	bind.FilledPlaces(p, h)
	if !p.Load {
		bind.InlineAssumed(p, h, keysFor(p, h), p.Session)
	}
	all := [][]driver.NamedValue{named(text)}
	// A placeholder with a number in the millions asks for gigabytes of arguments, which no
	// caller has.
	if p.Placeholders() <= len(text) {
		all = append(all, positional(p.Placeholders()))
	}
	for _, args := range all {
		h, err := bind.FindHoles(p, args)
		if err != nil {
			continue
		}
		keys := keysFor(p, h)
		if !p.TooMany() {
			bind.Arguments(p, args, h, keys, false)
		}
		if !p.Load {
			bind.Inline(p, args, h, keys, p.Session)
		}
	}
}

// keysFor returns the keys that the holes ask for.
func keysFor(p *plans.Plan, h bind.Holes) [][]driver.Value {
	keys := make([][]driver.Value, len(p.Draws))
	for i, draw := range p.Draws {
		in := &p.Inserts[draw.Insert]
		if k := &in.Target.Keys[draw.Key]; k.Tail != "" && in.Query != nil {
			keys[i] = k.TailValues("01a22267-d7c9-75bd-80cd-", 42019999999999, h.Counts[i])
			continue
		}
		keys[i] = make([]driver.Value, h.Counts[i])
		for n := range keys[i] {
			keys[i][n] = int64(n + 1)
		}
	}
	return keys
}

// positional returns n arguments without names, each of which is no key.
func positional(n int) []driver.NamedValue {
	args := make([]driver.NamedValue, n)
	for i := range args {
		args[i].Ordinal = i + 1
	}
	return args
}

// named returns an argument for each name that may be one of a parameter.
func named(text string) (args []driver.NamedValue) {
	seen := map[string]bool{}
	for {
		at := strings.IndexAny(text, ":@$")
		if at < 0 {
			return args
		}
		text = text[at+1:]
		n := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !isLetter(r) && (r < '0' || r > '9') })
		if n < 0 {
			n = len(text)
		}
		name := text[:n]
		if name != "" && (name[0] == '_' || isLetter(rune(name[0]))) && !seen[name] {
			seen[name] = true
			args = append(args, driver.NamedValue{Ordinal: len(args) + 1, Name: name})
		}
	}
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }
