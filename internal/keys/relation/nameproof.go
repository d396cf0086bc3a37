package relation

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// keyfill reads in the texts of a session what a table name without a schema means, and
// asks the engine if a text may have changed that. This is no proof: a function can
// change the search path or make a temporary table although no text says so, and the
// texts of a batch are sent before the first of them has run. So an INSERT whose keys
// depend on what its table's name means can prove it in its own statement: its first
// key is an expression that fails if the name means another table.

// ProvenNaming returns a plan of the query whose text proves what its bare names (names
// without a schema) mean on the connection, and the naming of that plan. It returns p
// and n if nothing has to be proven, or nothing can be. If asks is false, it proves
// only names whose schemas are known already. An error is the driver's own, or a
// store's.
func ProvenNaming(ctx context.Context, g *Session, e *table.Engine, n table.Naming, query string, p *plans.Plan, asks bool) (*plans.Plan, table.Naming, error) {
	at := g.Place.At
	if e.Dialect.Place.Proof == nil || at == nil || len(p.Draws) == 0 && p.Action != plans.Refuse || p.Load || !g.Tables.PlaceMatters(e, query, p) {
		return p, n, nil
	}
	if !asks {
		knowHome(ctx, g, at, p)
	}
	r := &provenNames{naming: n, dialect: e.Dialect, schemaOf: at.SchemaOf, targets: map[string]*plans.Target{}}
	plans, altered := e.Cache, g.IsAltered()
	if altered {
		plans = g.AlteredTables.Here(g).plans
		for name, schema := range n.Now {
			g.AlteredTables.schemas[at.Answer+"\x00"+name] = schema
		}
		r.schemaOf = func(name string) string { return g.AlteredTables.schemas[at.Answer+"\x00"+name] }
	}
	proven := table.Naming{Lookup: r.lookup}
	for {
		r.unknown = nil
		proven.Key = n.Key + "\x00proven\x00" + at.Answer + "\x00" + strconv.Itoa(at.Version()) + "\x00" + string(rune(p.Dialect.Settings)) + table.KeyOfNow(g.AlteredTables.schemas)
		known, ok := plans.Get(proven.Key + query)
		if !ok {
			known = compile.Query(p.Dialect, r.lookup, query)
			if len(r.targets) == 0 {
				known = p
			}
		}
		if len(r.unknown) == 0 || !asks {
			if !ok && len(r.unknown) == 0 {
				plans.Put(proven.Key+query, known)
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
		for _, name := range r.unknown {
			found, err := findProven(ctx, g, at, name)
			if err != nil {
				return nil, n, g.Held(err)
			}
			asks = asks && found // nothing can be proven about a table that does not exist
		}
	}
}

// AskNames asks the engine what the bare names (names without a schema) of a text mean,
// for a text that cannot contain a proof, such as COPY. other reports that a name means
// another table than was known; that knowledge is then discarded. An error is the
// driver's own, or a store's.
func AskNames(ctx context.Context, g *Session, e *table.Engine, n table.Naming, query string, p *plans.Plan) (other bool, err error) {
	at := g.Place.At
	if e.Dialect.Place.Proof == nil || e.Dialect.Place.Proof.Asks == "" || at == nil || g.IsAltered() || !g.Tables.PlaceMatters(e, query, p) {
		return false, nil
	}
	r := &provenNames{naming: n, dialect: e.Dialect, schemaOf: at.SchemaOf, targets: map[string]*plans.Target{}}
	compile.Query(p.Dialect, r.lookup, query)
	for _, name := range r.unknown {
		if _, err := findProven(ctx, g, at, name); err != nil {
			return false, g.Held(err)
		}
	}
	compile.Query(p.Dialect, r.lookup, query)
	for name := range r.targets {
		row, err := g.QueryRow(ctx, proofNames(e.Dialect, at.SchemaOf(name), name).Replace(e.Dialect.Place.Proof.Asks), nil)
		if err != nil {
			return false, err
		}
		if same, ok := session.IntegerOf(row[0]); ok && same != 1 {
			g.Doubt(name)
			other = true
		}
	}
	return other, nil
}

// knowHome records, if at is the schema or search path with which the database is
// opened, the schemas in which the tables of a plan were found when the catalog was
// asked about their columns. It ignores errors: the next query that needs the answer
// returns them.
func knowHome(ctx context.Context, g *Session, at *session.Location, p *plans.Plan) {
	if at != g.Tables.Places.Home.Load() || g.IsAltered() || g.Tables.StatesOnConnection() {
		return
	}
	for i := range p.Inserts {
		t := table.Of(&p.Inserts[i])
		if !t.AsksCatalog || t.Rule.Schema != "" || t.Rule.Loose || g.Tables.ModeOf(t) != policy.ModeFill || at.SchemaOf(t.Rule.Name) != "" {
			continue
		}
		if f, err := g.Tables.Facts(ctx, g, t); err == nil && len(f.Columns) > 0 && f.Columns[0].Schema != "" {
			at.Keep(t.Rule.Name, f.Columns[0].Schema)
		}
	}
}

// findProven looks for the schema of the table that a name means in a place (a search
// path or current schema), and reports whether the table exists.
func findProven(ctx context.Context, g *Session, at *session.Location, name string) (bool, error) {
	if !g.IsAltered() {
		_, lasts, err := g.Tables.locate(ctx, g, at, name)
		return lasts, err
	}
	schema, found, err := catalog.Locate(ctx, g.Tables.Dialect(), catalog.Conn(g.Own()), at.Answer, name)
	if err == nil && found && schema != "" {
		g.AlteredTables.schemas[at.Answer+"\x00"+name] = schema
		return true, nil
	}
	return false, err
}

// provenNames maps the names of tables to targets (tables with their keys). The INSERT of
// such a target proves, when it runs, that the name means that table.
type provenNames struct {
	naming   table.Naming
	dialect  *dialect.Dialect
	schemaOf func(name string) string // empty if it is not known
	targets  map[string]*plans.Target // by name, if the schema is known
	unknown  []string                 // names whose schema is not known
}

// lookup returns the target (a table with its keys) that a name of a text means, as the
// rewriting of the text needs it.
func (r *provenNames) lookup(schema, name string) *plans.Target {
	found := r.naming.Lookup(schema, name)
	if found == nil || schema != "" {
		return found
	}
	if t := r.targets[name]; t != nil {
		return t
	}
	schema = r.schemaOf(name)
	if schema == "" {
		r.unknown = append(r.unknown, name)
		return found
	}
	t := *found
	t.Keys = slices.Clone(found.Keys)
	for i := range t.Keys {
		t.Keys[i].Proof = ProofOf(r.dialect, schema, name, t.Keys[i].Type)
	}
	r.targets[name] = &t
	return &t
}

// ProofOf returns the proof (an expression that fails otherwise) that a bare name means
// the table in the given schema, for keys of the SQL type typ.
func ProofOf(d *dialect.Dialect, schema, name, typ string) plans.Proof {
	proof := d.Place.Proof
	in := proofNames(d, schema, name)
	shut := func(typ string) string {
		if text, ok := proof.Shut[typ]; ok {
			return in.Replace(text)
		}
		return in.Replace(proof.Shut[""])
	}
	return plans.Proof{Name: name, Schema: schema, Open: in.Replace(proof.Open), Shut: shut(typ), Counted: shut("bigint")}
}

// proofNames returns a replacer that writes names into the parts of a dialect's proof of
// what a name means.
func proofNames(d *dialect.Dialect, schema, name string) *strings.Replacer {
	return strings.NewReplacer(
		"{bare}", literal(d, name),
		"{name}", literal(d, identifier(name)),
		"{table}", literal(d, identifier(schema)+"."+identifier(name)),
		"{said}", literal(d, saysOther(d, schema, name)))
}

// saysOther returns the part of a failed proof's error which says that a name does not
// mean the table in the given schema.
func saysOther(d *dialect.Dialect, schema, name string) string {
	return strings.NewReplacer("{name}", name, "{table}", schema+"."+name).Replace(d.Place.Proof.Says)
}

// identifier returns a name in double quotes.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal returns text as a literal that means the same under all settings of the
// session.
func literal(d *dialect.Dialect, text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if d.Lexis.EscapeStrings && strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// proofState records whether a dialect's proof of what a table's name means works on a
// database.
type proofState int32

const (
	proofUntried proofState = iota
	proofWorking
	proofFailing
)

// proofWorks reports whether the dialect's proof of what a table's name means succeeds for
// the right table and raises an error for any other: engines that imitate PostgreSQL may
// lack its functions, or answer differently. It is tried once, on a connection of
// keyfill's own.
func proofWorks(ctx context.Context, g *Session, d *dialect.Dialect) (bool, error) {
	db := g.Tables
	if tried := proofState(db.asked.nameProof.Load()); tried != proofUntried {
		return tried == proofWorking, nil
	}
	q := catalog.Conn(g.Own())
	if !db.StatesOnConnection() {
		var err error
		if q, err = db.Stores.Catalog(); err != nil {
			return false, g.Held(err)
		}
	}
	const schema, name = "pg_catalog", "pg_class"
	try := func(query string) (rows int, raised error, err error) {
		query = proofNames(d, schema, name).Replace(query)
		err = table.AskCatalog(ctx, d, db.StoreWait, q, lender(g), func(ctx context.Context, q catalog.Querier) error {
			all, err := q.Rows(ctx, query)
			if sqlcode.Answered(err) && sqlcode.ClassOf(d, err) != dialect.ErrorPassing {
				raised, err = err, nil
			}
			rows = len(all)
			return err
		})
		return rows, raised, err
	}
	rows, raised, err := try(d.Place.Proof.Passes)
	passes := rows == 1 && raised == nil
	if err == nil && passes {
		_, raised, err = try(d.Place.Proof.Raises)
	}
	if err != nil {
		return false, g.Held(err)
	}
	state := proofFailing
	if passes && ShowsOther(d, raised, schema, name) {
		state = proofWorking
	}
	db.asked.nameProof.Store(int32(state))
	return state == proofWorking, nil
}

// ShowsOther reports whether the error of a statement with a proof of what a name means
// shows that a name does not mean the table in the given schema, or that this table does
// not exist.
func ShowsOther(d *dialect.Dialect, err error, schema, name string) bool {
	if err == nil || d.Place.Proof == nil {
		return false
	}
	if strings.Contains(err.Error(), saysOther(d, schema, name)) {
		return true
	}
	c, ok := sqlcode.Of(err)
	if !ok || !slices.Contains(d.Place.Proof.States, c.State) {
		return false
	}
	// The error about a missing table names the table with its schema. The application's
	// text may use other tables of the schema, one of which may be missing.
	if c.State == missingTable {
		return hasWord(err.Error(), schema+"."+name)
	}
	return name != schema && hasWord(err.Error(), schema)
}

// ShowsMissing reports whether an error says that a table does not exist, on an engine
// on which names are proven.
func ShowsMissing(d *dialect.Dialect, err error) bool {
	c, ok := sqlcode.Of(err)
	return ok && d.Place.Proof != nil && c.State == missingTable
}

// missingTable is PostgreSQL's SQLSTATE for a table that does not exist.
const missingTable = "42P01"

// hasWord reports whether word occurs in text between characters that are not part of a
// name.
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
