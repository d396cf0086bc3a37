package e2e_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// TestGaleraFresh: a process on one node finds the state that another one has made a
// moment ago on another node, and so does one whose connections go to any node.
func TestGaleraFresh(t *testing.T) {
	nodes := testdb.StartGalera(t, "mysql", 3)
	e := mysqlDefault
	e.server = nodes[0]
	for name, src := range map[string]policy.Source{
		"sequence":  counted(nil),
		"joined":    counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined }),
		"scoped":    counted(func(s *policy.Source) { s.Block, s.Scope = 0, &policy.Scope{{Column: "a"}} }),
		"recycled":  mapped(policy.KindRecycled, nil),
		"snowflake": mapped(policy.KindSnowflake, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s := e.scratch(t)
			database := text(t, s.raw, "SELECT DATABASE()")
			for round := range 8 {
				table := fmt.Sprintf("t%d", round)
				exec(t, s.raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL, a INT NOT NULL, PRIMARY KEY (id, a), KEY (a, id))")
				for _, node := range nodes {
					count(t, open(t, "mysql", node.DSN("")+"?"+galeraSynced), "SELECT COUNT(*) FROM "+database+"."+table)
				}
				if src.Kind == policy.KindSnowflake {
					src.Worker = newWorker()
				}
				dsn := nodes[1].DSN(database)
				if round%2 == 1 {
					dsn = balanced(nodes, database)
				}
				other := &scratch{engine: e, connector: connectorOf(t, "mysql", dsn)}
				one, _ := s.open(t, fillID(table, policy.Table{InPlace: &src}))
				two, _ := other.open(t, fillID(table, policy.Table{InPlace: &src}))
				exec(t, one, "INSERT INTO "+table+" (a) VALUES (1)")
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
