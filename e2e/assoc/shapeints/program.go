// Package shapeints has shapes (small programs with GORM) whose ids are integers.
package shapeints

import (
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/keyfill/keyfill/e2e/assoc"
)

// The models have no tags for their keys.

// Firm has users.
type Firm struct {
	ID    ID
	Name  string
	Users []User
}

// User belongs to a firm, and has orders, a profile and tags.
type User struct {
	ID      ID
	Name    string
	Age     int
	FirmID  ID
	Firm    *Firm
	Orders  []Order
	Profile *Profile
	Tags    []*Tag `gorm:"many2many:shape_user_tags"`
}

// Order belongs to a user.
type Order struct {
	ID     ID
	UserID ID
	Name   string
	Price  int
}

// Profile belongs to a user.
type Profile struct {
	ID     ID
	UserID ID
	Name   string
}

// Tag belongs to many users.
type Tag struct {
	ID   ID
	Name string
}

// TableName returns the name of the table.
func (Firm) TableName() string { return "shape_firms" }

// TableName returns the name of the table.
func (User) TableName() string { return "shape_users" }

// TableName returns the name of the table.
func (Order) TableName() string { return "shape_orders" }

// TableName returns the name of the table.
func (Profile) TableName() string { return "shape_profiles" }

// TableName returns the name of the table.
func (Tag) TableName() string { return "shape_tags" }

// ID is the type of all ids.
type ID = int64

type run = *assoc.ShapeRun

// holds notes users and their associations, whose keys must be stored.
func holds(r run, users ...*User) {
	for _, u := range users {
		r.Note("shape_users", u.Name, u.ID, false)
		if u.Firm != nil {
			r.Note("shape_firms", u.Firm.Name, u.Firm.ID, false)
		}
		if u.Profile != nil {
			r.Note("shape_profiles", u.Profile.Name, u.Profile.ID, false)
		}
		for _, o := range u.Orders {
			r.Note("shape_orders", o.Name, o.ID, false)
		}
		for _, tag := range u.Tags {
			r.Note("shape_tags", tag.Name, tag.ID, false)
		}
	}
}

var errBack = errors.New("the program goes back")

// orders returns orders with names.
func orders(names ...string) (all []Order) {
	for i, name := range names {
		all = append(all, Order{Name: name, Price: i + 1})
	}
	return all
}

// Shapes returns the shapes (small programs with GORM).
func Shapes() []assoc.Shape {
	create := func(users ...*User) func(run) error {
		return func(r run) error {
			fresh := make([]*User, len(users))
			for i, u := range users {
				one := *u
				fresh[i] = &one
			}
			var all any = &fresh
			if len(fresh) == 1 {
				all = fresh[0]
			}
			err := r.Create(all).Error
			holds(r, fresh...)
			return err
		}
	}
	byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}
	return []assoc.Shape{
		{Name: "a struct", Run: create(&User{Name: "a", Age: 1})},
		{Name: "pointers", Run: create(&User{Name: "a", Age: 1}, &User{Name: "b", Age: 2}, &User{Name: "c"})},
		{Name: "a slice", Run: func(r run) error {
			all := []User{{Name: "a"}, {Name: "b", Age: 2}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
		{Name: "an array", Run: func(r run) error {
			all := [2]User{{Name: "a"}, {Name: "b", Age: 2}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
		{Name: "has many", Run: func(r run) error {
			u := User{Name: "a", Orders: orders("o1", "o2")}
			err := r.Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "has many of several", Run: func(r run) error {
			all := []User{{Name: "a", Orders: orders("o1", "o2")}, {Name: "b"}, {Name: "c", Orders: orders("o3")}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1], &all[2])
			return err
		}},
		{Name: "no children", Run: func(r run) error {
			u := User{Name: "a", Orders: []Order{}, Tags: []*Tag{}}
			err := r.Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "has one", Run: func(r run) error {
			u := User{Name: "a", Profile: &Profile{Name: "p"}}
			err := r.Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "has one of several", Run: func(r run) error {
			all := []User{{Name: "a", Profile: &Profile{Name: "p"}}, {Name: "b", Profile: &Profile{Name: "q"}}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
		{Name: "belongs to", Gap: "postgres sqlite", Run: func(r run) error {
			u := User{Name: "a", Firm: &Firm{Name: "f"}}
			err := r.Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "many to many", Gap: "postgres sqlite", Run: func(r run) error {
			u := User{Name: "a", Tags: []*Tag{{Name: "t1"}, {Name: "t2"}}}
			err := r.Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "everything", Gap: "postgres sqlite", Run: func(r run) error {
			u := User{Name: "a", Age: 3, Firm: &Firm{Name: "f"}, Orders: orders("o1"), Profile: &Profile{Name: "p"}, Tags: []*Tag{{Name: "t1"}}}
			err := r.Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "three deep", Gap: "mariadb", Run: func(r run) error {
			f := Firm{Name: "f", Users: []User{{Name: "a", Orders: orders("o1", "o2")}, {Name: "b", Orders: orders("o3")}}}
			err := r.Create(&f).Error
			r.Note("shape_firms", f.Name, f.ID, false)
			holds(r, &f.Users[0], &f.Users[1])
			return err
		}},
		{Name: "one firm", Gap: "postgres sqlite", Run: func(r run) error {
			f := &Firm{Name: "f"}
			all := []User{{Name: "a", Firm: f}, {Name: "b", Firm: f}, {Name: "c", Firm: f}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1], &all[2])
			return err
		}},
		{Name: "one tag", Gap: "postgres sqlite", Run: func(r run) error {
			one := &Tag{Name: "t"}
			all := []User{{Name: "a", Tags: []*Tag{one}}, {Name: "b", Tags: []*Tag{one}}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
		{Name: "one tag beside others", Gap: "mariadb postgres sqlite", Run: func(r run) error {
			one := &Tag{Name: "t"}
			a, b := User{Name: "a", Tags: []*Tag{one, {Name: "t1"}}}, User{Name: "b", Tags: []*Tag{{Name: "t2"}, one}}
			err := errors.Join(r.Create(&a).Error, r.Create(&b).Error)
			holds(r, &a, &b)
			return err
		}},
		{Name: "one firm in two INSERTs", Gap: "postgres sqlite", Run: func(r run) error {
			f := &Firm{Name: "f"}
			a, b := User{Name: "a", Firm: f}, User{Name: "b", Firm: f}
			err := errors.Join(r.Create(&a).Error, r.Create(&b).Error)
			holds(r, &a, &b)
			return err
		}},
		{Name: "one struct twice", Rows: []string{"shape_tags: t - -", "shape_tags: t - -"}, Run: func(r run) error {
			one := &Tag{Name: "t"}
			return r.Create([]*Tag{one, one}).Error
		}},
		{Name: "own keys beside others", Run: func(r run) error {
			first := User{Name: "a"}
			if err := r.Create(&first).Error; err != nil {
				return err
			}
			if err := r.Delete(&first).Error; err != nil {
				return err
			}
			all := []User{{ID: first.ID, Name: "a again", Age: 1}, {Name: "b", Age: 2}}
			err := r.Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
		{Name: "upsert", Gap: "mariadb postgres sqlite", Run: func(r run) error {
			a := User{Name: "a", Age: 1}
			if err := r.Create(&a).Error; err != nil {
				return err
			}
			again, b := User{Name: "a", Age: 2}, User{Name: "b", Age: 3}
			err := errors.Join(r.Clauses(byName).Create(&again).Error, r.Clauses(byName).Create(&b).Error)
			holds(r, &a, &b)
			return err
		}},
		{Name: "upsert of nothing", Gap: "mariadb postgres sqlite", Run: func(r run) error {
			a := User{Name: "a", Age: 1}
			if err := r.Create(&a).Error; err != nil {
				return err
			}
			b := User{Name: "b", Age: 3}
			err := errors.Join(r.Clauses(clause.OnConflict{DoNothing: true}).Create(&User{Name: "a"}).Error, r.Clauses(clause.OnConflict{DoNothing: true}).Create(&b).Error)
			holds(r, &a, &b)
			return err
		}},
		{Name: "Select", Rows: []string{"shape_orders: o1 1 a", "shape_orders: o2 2 a", "shape_users: a - -"}, Run: func(r run) error {
			u := User{Name: "a", Age: 7, Orders: orders("o1", "o2")}
			err := r.Select("Name", "Orders").Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "Select of a child's column", Rows: []string{"shape_orders: o1 - a", "shape_orders: o2 - a", "shape_users: a - -"}, Run: func(r run) error {
			u := User{Name: "a", Age: 7, Orders: orders("o1", "o2")}
			err := r.Select("Name", "Orders", "Orders.Name", "Orders.UserID").Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "Omit of the key", Rows: []string{"shape_orders: o1 1 a", "shape_users: a 7 -", "shape_users: b 0 -"}, Run: func(r run) error {
			all := []User{{Name: "a", Age: 7, Orders: orders("o1")}, {Name: "b"}}
			err := r.Omit("ID").Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
		{Name: "Omit", Run: func(r run) error {
			u := User{Name: "a", Age: 7, Orders: orders("o1", "o2")}
			err := r.Omit("Age", "Orders.Price").Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "Omit of associations", Run: func(r run) error {
			u := User{Name: "a", Orders: orders("o1"), Tags: []*Tag{{Name: "t"}}}
			err := r.Omit(clause.Associations).Create(&u).Error
			r.Note("shape_users", "a", u.ID, false)
			r.Note("shape_orders", "o1", u.Orders[0].ID, true)
			return err
		}},
		{Name: "a map", Rows: []string{"shape_users: m 4 -"}, Run: func(r run) error {
			return r.Model(&User{}).Create(map[string]any{"Name": "m", "Age": 4}).Error
		}},
		{Name: "batches", Run: func(r run) error {
			var all []User
			for i := range 5 {
				all = append(all, User{Name: fmt.Sprint("u", i), Orders: orders(fmt.Sprint("o", i), fmt.Sprint("p", i))})
			}
			err := r.CreateInBatches(&all, 2).Error
			for i := range all {
				holds(r, &all[i])
			}
			return err
		}},
		{Name: "a transaction with a savepoint", Run: func(r run) error {
			a, gone, b := User{Name: "a", Orders: orders("o1")}, User{Name: "gone", Orders: orders("o2")}, User{Name: "b", Orders: orders("o3")}
			err := r.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(&a).Error; err != nil {
					return err
				}
				err := tx.Transaction(func(inner *gorm.DB) error {
					if err := inner.Create(&gone).Error; err != nil {
						return err
					}
					return errBack
				})
				if !errors.Is(err, errBack) {
					return err
				}
				return tx.Create(&b).Error
			})
			holds(r, &a, &b)
			return err
		}},
		{Name: "a row that is there", Fails: true, Run: func(r run) error {
			a := User{Name: "a", Orders: orders("o1")}
			if err := r.Create(&a).Error; err != nil {
				return err
			}
			holds(r, &a)
			all := []User{{Name: "b", Orders: orders("o2")}, {Name: "a"}}
			err := r.Create(&all).Error
			r.Note("shape_users", "b", all[0].ID, true)
			r.Note("shape_users", "a", all[1].ID, true)
			return err
		}},
		{Name: "a child that is refused", Fails: true, Run: func(r run) error {
			u := User{Name: "a", Orders: []Order{{Name: "o1", Price: 1000}}}
			err := r.Create(&u).Error
			r.Note("shape_users", "a", u.ID, true)
			r.Note("shape_orders", "o1", u.Orders[0].ID, true)
			return err
		}},
		{Name: "Save of a new one", Run: func(r run) error {
			u := User{Name: "a", Orders: orders("o1")}
			err := r.Save(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "Save with a new child", Run: func(r run) error {
			u := User{Name: "a"}
			if err := r.Create(&u).Error; err != nil {
				return err
			}
			u.Age, u.Orders = 5, orders("o1", "o2")
			err := r.Save(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "Save with an old and a new child", Gap: "mariadb postgres sqlite", Run: func(r run) error {
			u := User{Name: "a", Orders: orders("o1")}
			if err := r.Create(&u).Error; err != nil {
				return err
			}
			u.Age = 1
			u.Orders = append(u.Orders, orders("o2")...)
			err := r.Save(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "FullSaveAssociations", Run: func(r run) error {
			u := User{Name: "a", Orders: orders("o1", "o2"), Profile: &Profile{Name: "p"}}
			err := r.Session(&gorm.Session{FullSaveAssociations: true}).Create(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "Append to has many", Run: func(r run) error {
			u := User{Name: "a"}
			if err := r.Create(&u).Error; err != nil {
				return err
			}
			err := r.Model(&u).Association("Orders").Append(&Order{Name: "o1", Price: 1})
			holds(r, &u)
			return err
		}},
		{Name: "Append to many to many", Gap: "postgres sqlite", Run: func(r run) error {
			u := User{Name: "a"}
			if err := r.Create(&u).Error; err != nil {
				return err
			}
			err := r.Model(&u).Association("Tags").Append(&Tag{Name: "t1"}, &Tag{Name: "t2"})
			holds(r, &u)
			return err
		}},
		{Name: "FirstOrCreate", Run: func(r run) error {
			u := User{}
			err := r.Where(&User{Name: "a"}).Attrs(User{Age: 1}).FirstOrCreate(&u).Error
			holds(r, &u)
			return err
		}},
		{Name: "prepared", Run: func(r run) error {
			a, b := User{Name: "a", Orders: orders("o1")}, User{Name: "b", Orders: orders("o2")}
			g := r.Session(&gorm.Session{PrepareStmt: true})
			err := errors.Join(g.Create(&a).Error, g.Create(&b).Error)
			holds(r, &a, &b)
			return err
		}},
		{Name: "RETURNING", Scans: true, Run: func(r run) error {
			all := []User{{Name: "a", Age: 2}, {Name: "b"}}
			err := r.Clauses(clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "age"}}}).Create(&all).Error
			holds(r, &all[0], &all[1])
			return err
		}},
	}
}
