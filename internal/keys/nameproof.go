package keys

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// What a name without a schema means is followed by the texts of a session, and asked
// where a text may have changed it. That is no proof: a function can move the session
// where no text says so, or make a temporary table, and the texts of a batch are sent
// before the first of them has run. Therefore an INSERT whose keys depend on what its
// table's name means can prove it in its own statement: the first key is an expression
// that is an error where the name means another table.

// ProvenNaming returns the naming by which the texts of plans prove what their bare names
// mean where the connection is, and the plan of a query by it. It is what was given where
// nothing has to be proven, or can be. Where asks is false, only those names are proven
// whose schemas are known already. An error is the driver's own, or a store's.
func ProvenNaming(ctx context.Context, g *Conn, e *Engine, n Naming, query string, p *rewrite.Plan, asks bool) (*rewrite.Plan, Naming, error) {
	at := g.Place.At
	if e.Dialect.Place.Proof == nil || at == nil || len(p.Draws) == 0 && p.Action != rewrite.Refuse || p.Load || g.isAltered() || !g.tables.PlaceMatters(e, query, p) {
		return p, n, nil
	}
	r := &provenNames{naming: n, proof: e.Dialect.Place.Proof, at: at, targets: map[string]*rewrite.Target{}}
	proven := Naming{Lookup: r.lookup}
	for {
		proven.Key = n.Key + "\x00proven\x00" + at.Answer + "\x00" + strconv.Itoa(at.Version()) + "\x00" + string(rune(p.Dialect().Settings))
		known, ok := e.cache.Get(proven.Key + query)
		if !ok {
			r.unknown = nil
			known = rewrite.Compile(p.Dialect(), r.lookup, query)
			if len(r.targets) == 0 {
				known = p
			}
		}
		if len(r.unknown) == 0 || !asks {
			if !ok {
				e.cache.Put(proven.Key+query, known)
			}
			if known == p || !g.Place.Proves(at) {
				return p, n, nil
			}
			works, err := proofWorks(ctx, g, e.Dialect)
			if !works {
				return p, n, err
			}
			return known, proven, nil
		}
		lasts := true
		for _, name := range r.unknown {
			_, found, err := g.tables.locate(ctx, g, at, name)
			if err != nil {
				return nil, n, g.held(err)
			}
			lasts = lasts && found
		}
		asks = asks && lasts // a table that is not there proves nothing
	}
}

// provenNames is a naming whose targets prove what their bare names mean.
type provenNames struct {
	naming  Naming
	proof   *dialect.NameProof
	at      *session.Location
	targets map[string]*rewrite.Target // by name, where the schema is known
	unknown []string                   // names of which it is not
}

// lookup is the rewriter's view of the policy.
func (r *provenNames) lookup(schema, name string) *rewrite.Target {
	found := r.naming.Lookup(schema, name)
	if found == nil || schema != "" {
		return found
	}
	if t := r.targets[name]; t != nil {
		return t
	}
	schema = r.at.SchemaOf(name)
	if schema == "" {
		r.unknown = append(r.unknown, name)
		return found
	}
	t := *found
	t.Keys = slices.Clone(found.Keys)
	for i := range t.Keys {
		t.Keys[i].Proof = proofOf(r.proof, name, schema, name, t.Keys[i].Type)
	}
	r.targets[name] = &t
	return &t
}

// proofOf returns the proof that a name means a table, for keys of a type.
func proofOf(proof *dialect.NameProof, name, schema, table, typ string) rewrite.Proof {
	qualified := identifier(schema) + "." + identifier(table)
	in := strings.NewReplacer("{name}", literal(identifier(name)), "{table}", literal(qualified),
		"{said}", literal(sayNot(name, schema+"."+table)))
	return rewrite.Proof{Name: name, Schema: schema, Open: in.Replace(proof.Open), Shut: in.Replace(proof.Shut[typ]), Counted: in.Replace(proof.Shut["bigint"])}
}

// sayNot says that a name does not mean a table.
func sayNot(name, table string) string { return "keyfill: " + name + " is not " + table }

// identifier returns a name in quotes.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal returns a text as a literal that is the same whatever the session's settings are.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// proofState is whether a database's expressions prove what they are to prove.
type proofState int32

const (
	proofUntried proofState = iota
	proofWorking
	proofFailing
)

// proofWorks reports whether the proof of the dialect passes where it has to, and raises
// where it has to: some engines speak like another one, and have no such names, or answer
// in another way. It is tried once, on a connection of our own.
func proofWorks(ctx context.Context, g *Conn, d *dialect.Dialect) (bool, error) {
	db := g.tables
	if tried := proofState(db.nameProof.Load()); tried != proofUntried {
		return tried == proofWorking, nil
	}
	q, err := db.sources.stores.catalog()
	if err != nil {
		return false, g.held(err)
	}
	const schema, table, other = "pg_catalog", "pg_class", "pg_attribute"
	proves := func(name string) (rows int, raised error, err error) {
		proof := proofOf(d.Place.Proof, name, schema, table, "bigint")
		err = askCatalog(ctx, d, db.storeWait, func(ctx context.Context) error {
			all, err := q.Rows(ctx, "SELECT "+proof.Open+"CAST(1 AS bigint)"+proof.Shut)
			if sqlcode.Answered(err) && sqlcode.ClassOf(d, err) != dialect.ErrorPassing {
				raised, err = err, nil
			}
			rows = len(all)
			return err
		})
		return rows, raised, err
	}
	rows, raised, err := proves(table)
	passes := rows == 1 && raised == nil
	if err == nil && passes {
		_, raised, err = proves(other)
	}
	if err != nil {
		return false, g.held(err)
	}
	state := proofFailing
	if passes && ShowsOther(d, raised, other, schema, table) {
		state = proofWorking
	}
	db.nameProof.Store(int32(state))
	return state == proofWorking, nil
}

// ShowsOther reports whether the error of a statement with a proof shows that a name does
// not mean a table, or that nothing can be looked up by the table's name.
func ShowsOther(d *dialect.Dialect, err error, name, schema, table string) bool {
	c, ok := sqlcode.Of(err)
	if !ok || d.Place.Proof == nil {
		return false
	}
	switch i := slices.Index(d.Place.Proof.States, c.State); i {
	case -1:
		return false
	case 0:
		return strings.Contains(err.Error(), sayNot(name, schema+"."+table))
	}
	// The text names the schema nowhere else.
	return name != schema && hasWord(err.Error(), schema)
}

// hasWord reports whether a word stands in a text between other characters than those of
// names.
func hasWord(text, word string) bool {
	isPart := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= 0x80)
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		if i += from; !isPart(i-1) && !isPart(i+len(word)) {
			return true
		}
		from = i + 1
	}
}
