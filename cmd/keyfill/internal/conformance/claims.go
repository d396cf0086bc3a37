package conformance

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
)

// claim is one sentence that a server can contradict, and how to try it.
type claim struct {
	name, says string
	try        func(context.Context, *run) (outcome, error)
}

// Claims returns the names of the claims of an engine, in the order in which they are
// tried.
func Claims(d *dialect.Dialect) (names []string) {
	for _, c := range claimsOf(d) {
		names = append(names, c.name)
	}
	return names
}

// claimsOf returns the claims of an engine.
func claimsOf(d *dialect.Dialect) (all []claim) {
	all = append(all,
		claim{"catalog", "the catalog says of a table what was declared", tryCatalog},
		claim{"integers", "integers of 63 bits are stored and read exactly", tryIntegers},
	)
	for _, l := range layoutsOf(d) {
		all = append(all, l.claim())
	}
	for _, topic := range goldenTopics(d) {
		all = append(all, claim{"insert/" + topic, "the filled INSERTs of this topic store their rows with their keys", func(ctx context.Context, r *run) (outcome, error) {
			return tryGoldens(ctx, r, topic)
		}})
	}
	return append(all,
		claim{"told/last-insert-id", "LastInsertId is the key of the row that was stored", tryLastInsertID},
		claim{"told/identity", "LastInsertId is the key that the engine made where keyfill makes none", tryIdentity},
		claim{"told/returning", "RETURNING or OUTPUT gives the keys of the rows that were stored", tryReturning},
		claim{"told/rows-affected", "RowsAffected counts the rows of a filled INSERT", tryRowsAffected},
		claim{"joined", "numbers in the transaction have no gap and come once, while transactions roll back", tryJoined},
		claim{"scope", "numbers within a parent have no gap and come once, while transactions roll back", tryScope},
		claim{"maxplusone", "the greatest key and one, under a lock, comes once", tryMaxPlusOne},
		claim{"blocks", "no key comes twice from 4 processes, one of which is killed, and no stored row is lost", tryBlocks},
		claim{"native", "an engine's own sequence gives keyfill blocks that no other session gets", tryNative},
		claim{"errors/duplicate", "a key that is stored already is a duplicate-key error", tryDuplicate},
		claim{"errors/missing", "a table that is not there is an error of that class", tryMissing},
		claim{"errors/waiting", "of two transactions that wait for one another, one fails with an error that says to try again", tryWaiting},
		claim{"session/settings", "keyfill follows a setting of the session that changes what a text means", trySettings},
		claim{"session/rollback", "a transaction that rolls back leaves no row", tryRollback},
	)
}
