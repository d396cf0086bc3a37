package apps_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/publicid"
)

// shopCustomer and shopOrder have ids with a prefix, which their columns hold as text.
type shopCustomer struct {
	ID     publicid.ID[shopCustomer]
	Name   string
	Orders []shopOrder `gorm:"foreignKey:CustomerID"`
}

type shopOrder struct {
	ID         publicid.ID[shopOrder]
	CustomerID publicid.ID[shopCustomer]
	ParentID   *publicid.ID[shopOrder]
	Note       string
}

func (shopCustomer) Prefix() string { return "cus" }
func (shopOrder) Prefix() string    { return "ord" }

// textEvent and uuidEvent have keys that are made from Sender and No, which GORM reads back.
type textEvent struct {
	ID     string `gorm:"default:(-)"`
	Sender string
	No     int64
	Note   string
}

type uuidEvent struct {
	ID     uuid.UUID `gorm:"default:(-)"`
	Sender string
	No     int64
	Note   string
}

// badEvent has a key that is not read back, and rows that would refer to it.
type badEvent struct {
	ID      string
	Sender  string
	No      int64
	Note    string
	Replies []badReply `gorm:"foreignKey:EventID"`
}

type badReply struct {
	ID      publicid.ID[shopOrder]
	EventID string
}

func (textEvent) TableName() string { return "text_events" }
func (uuidEvent) TableName() string { return "uuid_events" }
func (badEvent) TableName() string  { return "text_events" }

// TestGORMIDs: GORM stores ids with a prefix, and keys that are made from columns, as the
// structs then have them.
func TestGORMIDs(t *testing.T) {
	t.Parallel()
	const namespace = "c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17"
	from := policy.Scope{{Column: "sender", Type: policy.ScopeText}, {Column: "no"}}
	made := policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv5, Namespace: namespace, From: &from}}
	prefixed := func(prefix string) policy.Table {
		return policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: prefix}}
	}
	cfg := &policy.Config{Tables: map[string]policy.Table{
		"shop_customers": prefixed("cus"), "shop_orders": prefixed("ord"), "text_events": made, "uuid_events": made,
	}}
	keyOf := func(sender string, no int64) string {
		key, err := keysource.NewUUIDv5(uuid.MustParse(namespace)).Key(sender, no)
		if err != nil {
			t.Fatal(err)
		}
		return uuid.UUID(key).String()
	}
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		for _, plugin := range []bool{true, false} {
			for _, table := range []string{"shop_orders", "shop_customers", "text_events", "uuid_events"} {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
			}
			sender := "VARCHAR(20)"
			if s.Server == harness.MariaDB {
				sender += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
			}
			uuids := harness.ColumnTypes("uuid", "uuid", "text")[s.Dialect.Name]
			harness.Must(t, s.Raw, "CREATE TABLE shop_customers (id VARCHAR(30) NOT NULL PRIMARY KEY, name VARCHAR(20))",
				"CREATE TABLE shop_orders (id VARCHAR(30) NOT NULL PRIMARY KEY, customer_id VARCHAR(30) NOT NULL REFERENCES shop_customers (id), parent_id VARCHAR(30), note VARCHAR(20))",
				"CREATE TABLE text_events (id CHAR(36) NOT NULL PRIMARY KEY, sender "+sender+" NOT NULL, no BIGINT NOT NULL, note VARCHAR(20))",
				"CREATE TABLE uuid_events (id "+uuids+" NOT NULL PRIMARY KEY, sender "+sender+" NOT NULL, no BIGINT NOT NULL, note VARCHAR(20))")
			db, _ := s.Open(t, cfg)
			g := openGORM(t, s, db, true)
			if plugin {
				if err := g.Use(keyfillgorm.Plugin{}); err != nil {
					t.Fatal(err)
				}
			}
			do := func(result *gorm.DB) {
				t.Helper()
				if result.Error != nil {
					t.Errorf("plugin %v: %v", plugin, result.Error)
				}
			}
			begun := time.Now()
			ada := shopCustomer{Name: "Ada"}
			if plugin {
				ada.Orders = []shopOrder{{Note: "a"}, {Note: "b"}}
			}
			do(g.Create(&ada))
			many := []shopCustomer{{Name: "B"}, {Name: "C"}, {Name: "D"}}
			do(g.CreateInBatches(many, 2))
			do(g.Model(&shopCustomer{}).Create(map[string]any{"name": "E"}))
			var found []shopCustomer
			low, high, err := publicid.Bounds[shopCustomer](begun.Add(-time.Second), time.Now().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			do(g.Preload("Orders").Where("id >= ? AND id < ?", low, high).Order("id").Find(&found))
			if len(found) < 4 || found[0].Name != "Ada" || len(found[0].Orders) != len(ada.Orders) {
				t.Errorf("plugin %v: found are %+v", plugin, found)
			}
			if plugin {
				for i, one := range append([]shopCustomer{ada}, many...) {
					if found[i].ID != one.ID || one.ID.IsZero() {
						t.Errorf("stored is %v, and the struct has %v", found[i].ID, one.ID)
					}
				}
				if ada.Orders[0].ID.IsZero() || found[0].Orders[0].CustomerID != ada.ID {
					t.Errorf("orders: %+v, found %+v", ada.Orders, found[0].Orders)
				}
				child := shopOrder{CustomerID: ada.ID, ParentID: &ada.Orders[0].ID}
				do(g.Create(&child))
				do(g.Model(&child).Update("note", "c"))
				do(g.Delete(&child))
			}

			event := textEvent{Sender: "shop", No: 7}
			do(g.Create(&event))
			again := textEvent{Sender: "shop", No: 7, Note: "again"}
			do(g.Clauses(clause.OnConflict{DoNothing: true}).Create(&again))
			if err := g.Create(&textEvent{Sender: "shop", No: 7}).Error; err == nil {
				t.Errorf("plugin %v: a second row with the same key", plugin)
			}
			events := []textEvent{{Sender: "a", No: 1}, {Sender: "b", No: 2}}
			do(g.Create(&events))
			other := []uuidEvent{{Sender: "a", No: 1}, {Sender: "b", No: 2}}
			do(g.Create(&other))
			do(g.Clauses(clause.OnConflict{DoNothing: true}).Create(&[]uuidEvent{{Sender: "a", No: 1}, {Sender: "c", No: 3}}))
			do(g.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"note"})}).Create(&uuidEvent{Sender: "b", No: 2, Note: "changed"}))
			for table, want := range map[string]int{"text_events": 3, "uuid_events": 3} {
				rows := rowsOf(t, s.Raw, "SELECT id, CONCAT(sender, ' ', no) FROM "+table)
				for _, row := range rows {
					part := strings.Fields(row)
					if no := int64(part[2][0] - '0'); part[0] != keyOf(part[1], no) {
						t.Errorf("plugin %v: %s has the row %q, want the key %s", plugin, table, row, keyOf(part[1], no))
					}
				}
				if len(rows) != want {
					t.Errorf("plugin %v: %s has %q, want %d rows", plugin, table, rows, want)
				}
			}
			if note := harness.Text(t, s.Raw, "SELECT note FROM uuid_events WHERE no = 2"); note != "changed" {
				t.Errorf("plugin %v: the upsert leaves %q", plugin, note)
			}
			if plugin {
				if err := g.Create(&badEvent{Sender: "bad", Replies: []badReply{{}}}).Error; err == nil || !strings.Contains(err.Error(), "tag the field default:(-)") {
					t.Errorf("rows that refer to a key that is not read back: %v", err)
				}
			}
			if event.ID != keyOf("shop", 7) || events[1].ID != keyOf("b", 2) || other[0].ID.String() != keyOf("a", 1) {
				t.Errorf("plugin %v: the structs have the keys %v, %v and %v", plugin, event.ID, events[1].ID, other[0].ID)
			}
		}
	})
}
