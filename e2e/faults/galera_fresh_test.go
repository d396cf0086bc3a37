package faults_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestGaleraFresh: a process on one node finds the state that another one has made a
// moment ago on another node, and so does one whose connections go to any node.
func TestGaleraFresh(t *testing.T) {
	t.Parallel()
	nodes := cluster.Nodes(t)
	e := harness.MySQLDefault
	e.Server = nodes[0]
	for name, src := range map[string]policy.Source{
		"sequence":  harness.Counted(nil),
		"joined":    harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined }),
		"scoped":    harness.Counted(func(s *policy.Source) { s.Block, s.Scope = 0, &policy.Scope{{Column: "a"}} }),
		"recycled":  harness.Mapped(policy.KindRecycled, nil),
		"snowflake": harness.Mapped(policy.KindSnowflake, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s := e.Scratch(t)
			database := harness.Text(t, s.Raw, "SELECT DATABASE()")
			for round := range 8 {
				table := fmt.Sprintf("t%d", round)
				harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL, a INT NOT NULL, PRIMARY KEY (id, a), KEY (a, id))")
				for _, node := range nodes {
					harness.Count(t, harness.Open(t, "mysql", node.DSN("")+"?"+galeraSynced), "SELECT COUNT(*) FROM "+database+"."+table)
				}
				if src.Kind == policy.KindSnowflake {
					src.Worker = harness.NewWorker()
				}
				dsn := nodes[1].DSN(database)
				if round%2 == 1 {
					dsn = balanced(nodes, database)
				}
				other := &harness.Scratch{Engine: e, Connector: harness.ConnectorOf(t, "mysql", dsn)}
				one, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: &src}))
				two, _ := other.Open(t, harness.FillID(table, policy.Table{InPlace: &src}))
				harness.Exec(t, one, "INSERT INTO "+table+" (a) VALUES (1)")
				for range 3 {
					if _, err := two.Exec("INSERT INTO " + table + " (a) VALUES (1)"); err != nil && !isDeadlock(err.Error()) {
						t.Errorf("round %d: %v", round, err)
					}
				}
				one.Close()
				two.Close()
			}
		})
	}
}
