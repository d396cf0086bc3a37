package apps_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	mysqlgorm "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// gormOwner and gormPet are models of an application: the ids are GORM's own
// sort, and the pets find their owner by it.
type gormOwner struct {
	ID   int64
	Name string
	Pets []gormPet `gorm:"foreignKey:OwnerID"`
	Home *gormHome `gorm:"foreignKey:OwnerID"`
}

func (gormOwner) TableName() string { return "owners" }

type gormPet struct {
	ID      uint
	OwnerID int64
	Name    string
}

func (gormPet) TableName() string { return "pets" }

type gormHome struct {
	ID      int64
	OwnerID int64
	Name    string
}

func (gormHome) TableName() string { return "homes" }

// gormSources are the sources of the ids.
var gormSources = []struct {
	name   string
	source policy.Source
}{
	{"sequence", policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
	// The sequences of the cases before it do not fill its columns any more.
	{"snowflake", policy.Source{Kind: policy.KindSnowflake, Worker: new(7), EnsureSchema: true, Exclusive: true}},
}

// TestGORM: GORM on MariaDB without RETURNING takes one LastInsertId for a batch and
// counts up from it. The ids in the structs must be the rows' ids, which are found by
// name.
func TestGORM(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE owners (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE)")
		harness.Exec(t, s.Raw, "CREATE TABLE pets (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, owner_id BIGINT NOT NULL, name VARCHAR(40) NOT NULL UNIQUE, FOREIGN KEY (owner_id) REFERENCES owners (id))")
		harness.Exec(t, s.Raw, "CREATE TABLE homes (id BIGINT NOT NULL PRIMARY KEY, owner_id BIGINT NOT NULL UNIQUE, name VARCHAR(40) NOT NULL UNIQUE, FOREIGN KEY (owner_id) REFERENCES owners (id))")
		for _, source := range gormSources {
			for _, prepare := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/prepared %v", source.name, prepare), func(t *testing.T) {
					testGORM(t, s, source.source, prepare)
				})
			}
		}
	})
}

func testGORM(t *testing.T, s *harness.Scratch, source policy.Source, prepare bool) {
	cfg := &policy.Config{Tables: map[string]policy.Table{}}
	for _, table := range []string{"owners", "pets", "homes"} {
		own := source
		cfg.Tables[table] = policy.Table{Column: "id", InPlace: &own}
	}
	spy := new(harness.Spy)
	db, m := harness.OpenConnector(t, harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, spy), As: s.Connector.Driver()}, cfg)
	g, err := gorm.Open(mysqlgorm.New(mysqlgorm.Config{Conn: db, DisableWithReturning: true}),
		&gorm.Config{PrepareStmt: prepare, Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 100} {
		for _, table := range []string{"homes", "pets", "owners"} {
			harness.Exec(t, s.Raw, "DELETE FROM "+table)
		}
		gormBatch(t, s.Raw, g, n)
		gormAssociations(t, s.Raw, g, n)
		gormChildren(t, s.Raw, g, n)
	}
	for _, query := range spy.Take() {
		if strings.Contains(query, "RETURNING") {
			t.Errorf("%.200s: has RETURNING, so that LastInsertId is not asked for", query)
		}
	}
	for table, stats := range m.Stats().Tables {
		if stats.Keys == 0 || stats.Kept != 0 || len(stats.Refused) != 0 {
			t.Errorf("%s: counted %+v", table, stats)
		}
	}
}

// gormBatch creates n owners by one INSERT.
func gormBatch(t *testing.T, raw *sql.DB, g *gorm.DB, n int) {
	t.Helper()
	owners := make([]gormOwner, n)
	for i := range owners {
		owners[i].Name = fmt.Sprintf("batch %d-%d", n, i)
	}
	if err := g.Create(&owners).Error; err != nil {
		t.Fatal(err)
	}
	stored := idsByName(t, raw, "SELECT name, id FROM owners WHERE name LIKE 'batch%'")
	if len(stored) != n {
		t.Fatalf("%d owners are stored, want %d", len(stored), n)
	}
	for i, o := range owners {
		if o.ID == 0 || stored[o.Name] != o.ID || i > 0 && o.ID <= owners[i-1].ID {
			t.Fatalf("batch of %d: owner %d has id %d, stored is %d", n, i, o.ID, stored[o.Name])
		}
	}
}

// gormAssociations creates n owners, each with a home and two pets, in one call:
// GORM inserts all owners, then all pets and homes with the owners' ids. It does
// so by upserts.
func gormAssociations(t *testing.T, raw *sql.DB, g *gorm.DB, n int) {
	t.Helper()
	owners := make([]gormOwner, n)
	for i := range owners {
		name := fmt.Sprintf("family %d-%d", n, i)
		owners[i] = gormOwner{Name: name, Home: &gormHome{Name: name}, Pets: []gormPet{{Name: name + " a"}, {Name: name + " b"}}}
	}
	if err := g.Create(&owners).Error; err != nil {
		t.Fatal(err)
	}
	ids := idsByName(t, raw, "SELECT name, id FROM owners")
	pets := idsByName(t, raw, "SELECT name, id FROM pets")
	parents := idsByName(t, raw, "SELECT name, owner_id FROM pets")
	homes := idsByName(t, raw, "SELECT name, id FROM homes")
	housed := idsByName(t, raw, "SELECT name, owner_id FROM homes")
	if len(pets) != 2*n || len(homes) != n {
		t.Fatalf("%d pets and %d homes are stored of %d owners", len(pets), len(homes), n)
	}
	for _, o := range owners {
		if o.ID == 0 || o.ID != ids[o.Name] {
			t.Fatalf("%s has id %d, stored is %d", o.Name, o.ID, ids[o.Name])
		}
		if h := o.Home; h.ID == 0 || h.ID != homes[h.Name] || h.OwnerID != o.ID || housed[h.Name] != o.ID {
			t.Fatalf("the home of %s has id %d of %d, stored is %d of %d", o.Name, h.ID, h.OwnerID, homes[h.Name], housed[h.Name])
		}
		for _, p := range o.Pets {
			if p.ID == 0 || pets[p.Name] != int64(p.ID) || p.OwnerID != o.ID || parents[p.Name] != o.ID {
				t.Fatalf("%s has id %d of %d, stored is %d of %d", p.Name, p.ID, p.OwnerID, pets[p.Name], parents[p.Name])
			}
		}
	}
}

// gormChildren creates an owner, and then n pets of that owner by one INSERT,
// in one transaction.
func gormChildren(t *testing.T, raw *sql.DB, g *gorm.DB, n int) {
	t.Helper()
	owner := gormOwner{Name: fmt.Sprintf("owner of %d", n)}
	pets := make([]gormPet, n)
	err := g.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&owner).Error; err != nil {
			return err
		}
		for i := range pets {
			pets[i] = gormPet{Name: fmt.Sprintf("pet %d-%d", n, i), OwnerID: owner.ID}
		}
		return tx.Create(&pets).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := idsByName(t, raw, fmt.Sprintf("SELECT name, id FROM pets WHERE owner_id = %d", owner.ID))
	for i, p := range pets {
		if p.ID == 0 || int64(p.ID) != stored[p.Name] {
			t.Fatalf("pet %d of %d has id %d, stored is %d", i, n, p.ID, stored[p.Name])
		}
	}
}

// idsByName reads names and ids.
func idsByName(t *testing.T, db *sql.DB, query string) map[string]int64 {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	ids := map[string]int64{}
	for rows.Next() {
		var (
			name string
			id   int64
		)
		if err := rows.Scan(&name, &id); err != nil {
			t.Fatal(err)
		}
		ids[name] = id
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}
