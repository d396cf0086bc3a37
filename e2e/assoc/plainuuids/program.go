// Package plainuuids is a program that stores users with all that belongs to them through
// GORM, with ids that are UUIDs and have no tags for keyfill.
package plainuuids

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/keyfill/keyfill/e2e/assoc"
)

// ID is the type of the ids.
type ID = string

// The models of an application with associations of every kind. GORM's own tests have the
// same models, with more fields. Each row has a name of its own, by which it is found
// whatever its id is.
type (
	User struct {
		ID        ID     `gorm:"primaryKey"`
		Name      string `gorm:"uniqueIndex;size:60"`
		Age       int
		CompanyID *ID
		Company   *Company    `gorm:"foreignKey:CompanyID"`
		Account   *Account    `gorm:"foreignKey:UserID"`
		Pets      []*Pet      `gorm:"foreignKey:UserID"`
		Friends   []*User     `gorm:"many2many:friendships;joinForeignKey:UserID;joinReferences:FriendID"`
		Languages []*Language `gorm:"many2many:speaks;joinForeignKey:UserID;joinReferences:LanguageID"`
	}
	Company struct {
		ID   ID     `gorm:"primaryKey"`
		Name string `gorm:"uniqueIndex;size:60"`
	}
	Account struct {
		ID     ID `gorm:"primaryKey"`
		UserID *ID
		Name   string `gorm:"uniqueIndex;size:60"`
	}
	Pet struct {
		ID     ID `gorm:"primaryKey"`
		UserID *ID
		Name   string `gorm:"uniqueIndex;size:60"`
	}
	Language struct {
		ID   ID     `gorm:"primaryKey"`
		Name string `gorm:"uniqueIndex;size:60"`
		Note *string
	}
)

func (User) TableName() string     { return "users" }
func (Company) TableName() string  { return "companies" }
func (Account) TableName() string  { return "accounts" }
func (Pet) TableName() string      { return "pets" }
func (Language) TableName() string { return "languages" }

// family returns a user with all that belongs to a user. All of the names begin alike.
func family(name string, company *Company, languages ...*Language) *User {
	return &User{
		Name: name, Company: company, Account: &Account{Name: name + " account"},
		Pets:      []*Pet{{Name: name + " pet 1"}, {Name: name + " pet 2"}},
		Friends:   []*User{{Name: name + " friend 1"}, {Name: name + " friend 2"}},
		Languages: languages,
	}
}

// structsOf returns the structs that belong to users, with their references to other
// structs.
func structsOf(users ...*User) (all []assoc.Struct) {
	var zero ID
	ref := func(owner, table string, id *ID) {
		if id != nil {
			all = append(all, assoc.Struct{Table: table, Name: "-> " + owner, ID: *id})
		} else {
			all = append(all, assoc.Struct{Table: table, Name: "-> " + owner, ID: zero})
		}
	}
	for _, u := range users {
		all = append(all, assoc.Struct{Table: "users", Name: u.Name, ID: u.ID})
		if u.Company != nil {
			all = append(all, assoc.Struct{Table: "companies", Name: u.Company.Name, ID: u.Company.ID})
			ref(u.Company.Name, "companies", u.CompanyID)
		}
		if u.Account != nil {
			all = append(all, assoc.Struct{Table: "accounts", Name: u.Account.Name, ID: u.Account.ID})
			ref(u.Name, "users", u.Account.UserID)
		}
		for _, p := range u.Pets {
			all = append(all, assoc.Struct{Table: "pets", Name: p.Name, ID: p.ID})
			ref(u.Name, "users", p.UserID)
		}
		all = append(all, structsOf(u.Friends...)...)
		all = append(all, languagesOf(u.Languages...)...)
	}
	return all
}

func languagesOf(languages ...*Language) (all []assoc.Struct) {
	for _, l := range languages {
		all = append(all, assoc.Struct{Table: "languages", Name: l.Name, ID: l.ID})
	}
	return all
}

// step is a step of the program: what it does, and the structs that it leaves.
type step struct {
	name string
	run  func(g *gorm.DB) ([]assoc.Struct, error)
}

// Run runs the program.
func Run(g *gorm.DB) (all []assoc.Outcome) {
	for _, s := range slices.Concat(createSteps(), upsertSteps(), changeSteps()) {
		structs, err := s.run(g.Session(&gorm.Session{}))
		all = append(all, assoc.Outcome{Step: s.name, Failed: err != nil, Structs: structs})
	}
	return all
}

// createSteps store users with all that belongs to them.
func createSteps() []step {
	company := &Company{Name: "company"}
	german, french := &Language{Name: "german"}, &Language{Name: "french"}
	ada := family("ada", company, german, french)
	return []step{
		{"one user with everything", func(g *gorm.DB) ([]assoc.Struct, error) {
			err := g.Create(ada).Error
			return structsOf(ada), err
		}},
		{"three users with everything", func(g *gorm.DB) ([]assoc.Struct, error) {
			users := []*User{family("bob", company, german), family("cyd", &Company{Name: "new company"}, french), family("dan", company, &Language{Name: "dutch"}, german)}
			err := g.Create(users).Error
			return structsOf(users...), err
		}},
		{"in batches", func(g *gorm.DB) ([]assoc.Struct, error) {
			var users []*User
			for i := range 7 {
				users = append(users, family(fmt.Sprint("batch ", i), company, german))
			}
			err := g.CreateInBatches(users, 3).Error
			return structsOf(users...), err
		}},
		{"in a transaction", func(g *gorm.DB) ([]assoc.Struct, error) {
			user := family("tx", company, french)
			err := g.Transaction(func(tx *gorm.DB) error { return tx.Create(user).Error })
			return structsOf(user), err
		}},
		{"rolled back", func(g *gorm.DB) ([]assoc.Struct, error) {
			err := g.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(family("gone", company, german)).Error; err != nil {
					return err
				}
				return errors.New("no")
			})
			return nil, err
		}},
	}
}

// named returns languages with these names.
func named(names ...string) (all []*Language) {
	for _, name := range names {
		all = append(all, &Language{Name: name})
	}
	return all
}

// upsertSteps store rows, some of which exist already.
func upsertSteps() (steps []step) {
	for _, form := range []struct {
		name   string
		clause clause.OnConflict
	}{
		{"nothing", clause.OnConflict{DoNothing: true}},
		{"update", clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"note"})}},
	} {
		for i, names := range [][]string{{"?"}, {"german"}, {"? a", "? b"}, {"? c", "german"}, {"german", "? d"}, {"german", "french"}, {"german", "? e", "french", "? f"}} {
			steps = append(steps, step{fmt.Sprint(form.name, " to ", names), func(g *gorm.DB) ([]assoc.Struct, error) {
				languages := named(names...)
				for _, l := range languages {
					l.Name = strings.ReplaceAll(l.Name, "?", fmt.Sprint(form.name, i))
				}
				err := g.Clauses(form.clause).Create(languages).Error
				return languagesOf(languages...), err
			}})
		}
	}
	return append(steps, step{"a user with languages of which some are there", func(g *gorm.DB) ([]assoc.Struct, error) {
		user := &User{Name: "eve", Languages: named("eve's", "german", "eve's other")}
		err := g.Create(user).Error
		return structsOf(user), err
	}}, step{"a user with new languages", func(g *gorm.DB) ([]assoc.Struct, error) {
		user := &User{Name: "fay", Languages: named("fay's", "fay's other", "fay's third")}
		err := g.Create(user).Error
		return structsOf(user), err
	}})
}

// changeSteps change rows that exist.
func changeSteps() []step {
	find := func(g *gorm.DB, name string) *User {
		user := new(User)
		g.Preload("Pets").Preload("Friends").Preload("Languages").Preload("Company").Preload("Account").First(user, "name = ?", name)
		return user
	}
	return []step{
		{"first or create, there", func(g *gorm.DB) ([]assoc.Struct, error) {
			user := new(User)
			err := g.Where(&User{Name: "ada"}).FirstOrCreate(user).Error
			return structsOf(user), err
		}},
		{"first or create, new", func(g *gorm.DB) ([]assoc.Struct, error) {
			user := new(User)
			err := g.Where(&User{Name: "gil"}).Attrs(&User{Age: 7, Pets: []*Pet{{Name: "gil pet"}}}).FirstOrCreate(user).Error
			return structsOf(user), err
		}},
		{"saved with more of all", func(g *gorm.DB) ([]assoc.Struct, error) {
			user := find(g, "ada")
			user.Age = 36
			user.Pets = append(user.Pets, &Pet{Name: "ada pet 3"}, &Pet{Name: "ada pet 4"})
			user.Friends = append(user.Friends, &User{Name: "ada friend 3", Pets: []*Pet{{Name: "a friend's pet"}}})
			err := g.Save(user).Error
			return structsOf(user), err
		}},
		{"full save of associations", func(g *gorm.DB) ([]assoc.Struct, error) {
			user := find(g, "bob")
			user.Company = &Company{Name: "bob's company"}
			user.Pets = append(user.Pets, &Pet{Name: "bob pet 3"})
			err := g.Session(&gorm.Session{FullSaveAssociations: true}).Save(user).Error
			return structsOf(user), err
		}},
		{"appended", func(g *gorm.DB) ([]assoc.Struct, error) {
			user := find(g, "cyd")
			err := errors.Join(g.Model(user).Association("Pets").Append(&Pet{Name: "cyd pet 3"}, &Pet{Name: "cyd pet 4"}),
				g.Model(user).Association("Friends").Append(&User{Name: "cyd friend 3"}),
				g.Model(user).Association("Languages").Replace(named("cyd's", "cyd's other")))
			return structsOf(user), err
		}},
		{"a name that is there", func(g *gorm.DB) ([]assoc.Struct, error) {
			return nil, g.Create(&User{Name: "ada"}).Error
		}},
	}
}
