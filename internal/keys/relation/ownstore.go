package relation

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// OpenStores opens the stores of the policy and checks their settings. It does no I/O.
// For an [explain.Database] it opens only the application's database, and for an
// [explain.NoDatabase] nothing.
func (db *Tables) OpenStores(cfg *policy.Config, own driver.Connector) (err error) {
	switch own := own.(type) {
	case explain.NoDatabase:
		return nil
	case explain.Database:
		db.Explains = true
		db.Stores = statestore.NewOwnStore(db.Candidates[0].Dialect, own.Connector)
		return nil
	}
	if db.Stores, err = statestore.NewStores(cfg, db.Candidates[0].Dialect, own); err == nil {
		db.Stores.Drops, db.Stores.Now = &db.Drops, db.Dialect
	}
	return err
}

// CloseStores closes the stores, if they are open.
func (db *Tables) CloseStores() error {
	if db.Stores == nil {
		return nil
	}
	return db.Stores.Close()
}

// OwnStore returns the application's database as a store, with connections of keyfill's
// own.
func (db *Tables) OwnStore() (*store.Store, error) { return db.Stores.Get("") }

// OwnConnector returns a connector that opens connections to the application's database
// as its driver does.
func (db *Tables) OwnConnector() driver.Connector { return db.Stores.Own }
