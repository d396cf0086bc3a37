package statements_test

import (
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/draft"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// corpusSizes are how many INSERTs of a corpus are tried on each engine: SQLite takes all in
// a minute.
var corpusSizes = map[string]int{"sqlite": 100_000, "mariadb": 400, "postgres": 400}

// TestCorpusExplained is the law of TestExplainedAsDriven for INSERTs of other projects, for
// which tables can be made: under the policy that keyfill init writes for these, with its
// undecided entries, and with keys in a column more and in the table's first one.
func TestCorpusExplained(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.Without18(corpusEngines)) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			c := readCorpus(t, e.Dialect)
			s := e.Scratch(t)
			made, compared := 0, map[string]int{}
			for _, in := range sample(c.inserts, corpusSizes[e.Dialect.Name]) {
				tables, ok := c.make(t, s, in)
				if !ok {
					continue
				}
				made++
				for kind, cfg := range corpusPolicies(t, s, tables) {
					if action := corpusExplained(t, s, in, kind, cfg); action != "" {
						compared[kind+" "+action]++
					}
				}
			}
			if len(compared) == 0 {
				t.Error("nothing was compared")
			}
			t.Logf("tables made for %d of %d INSERTs; explained as driven: %v", made, min(len(c.inserts), corpusSizes[e.Dialect.Name]), compared)
		})
	}
}

// corpusPolicies returns policies for the tables of an INSERT, by their kinds.
func corpusPolicies(t *testing.T, s *harness.Scratch, tables corpusTables) map[string]*policy.Config {
	t.Helper()
	target := func(keys ...goldenKey) []goldenTarget { return []goldenTarget{{table: tables.target, keys: keys}} }
	first := goldenKey{column: tables.columns[0], integer: true}
	all := map[string]*policy.Config{"first": explainedPolicy(s.Dialect, target(first), "autonomous")}
	if tables.keyed {
		number := goldenKey{column: corpusInteger, integer: true}
		all["uuid"] = explainedPolicy(s.Dialect, target(goldenKey{column: corpusUUID, tail: true}), "autonomous")
		all["autonomous"] = explainedPolicy(s.Dialect, target(number), "autonomous")
		all["joined"] = explainedPolicy(s.Dialect, target(number), "joined")
	}
	over, err := catalog.List(t.Context(), s.Dialect, catalog.DB(s.Raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := policy.Parse([]byte(draft.Of(s.Dialect, over).Candidates()))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range cfg.Tables {
		storeHere(table.InPlace, "autonomous")
		for _, key := range table.Keys {
			storeHere(key.InPlace, "autonomous")
		}
	}
	cfg.Dialect = ""
	if len(cfg.Tables) > 0 {
		all["init"] = cfg
	}
	return all
}

// corpusExplained compares the explanation of an INSERT with what the driver does, and
// returns the explanation's action; empty if nothing was compared, and for pass.
func corpusExplained(t *testing.T, s *harness.Scratch, in corpusInsert, kind string, cfg *policy.Config) string {
	t.Helper()
	c, err := keyfill.WrapConnector(explain.Database{Connector: s.Connector}, keyfill.Options{Policy: cfg})
	if err != nil {
		return "" // the policy file wants such a name in quotes
	}
	x, err := explain.On(t.Context(), c)
	if err != nil {
		t.Errorf("%s, %s: %v", in.id, kind, err)
		return ""
	}
	defer x.Close()
	before := everythingIn(t, s)
	ex, err := x.Explain(in.text)
	if err != nil {
		t.Errorf("%s, %s: %v\nin: %s", in.id, kind, err, in.text)
		return ""
	}
	if after := everythingIn(t, s); after != before {
		t.Errorf("%s, %s: the explanation has changed the database from\n%s\nto\n%s", in.id, kind, before, after)
	}
	p := compile.Query(s.Dialect, func(_, name string) *plans.Target {
		return &plans.Target{Table: name, Keys: []plans.Key{{Column: corpusUUID, Fill: plans.FillMissing, Integer: true, Counted: true}}}
	}, in.text)
	d := drive(t, s, cfg)
	compared := compareExplained(t, s, goldenCase{name: in.id, in: in.text}, kind, p, ex, d)
	d.db.Close()
	dropStates(t, s)
	if !compared || ex.Action == "pass" {
		return ""
	}
	return ex.Action
}
