// Command pay stores invoices with the code of lnd/sqldb, as a node does that is paid:
//
//	pay [-invoices n] file
//
// It ends after n invoices. Without n it goes on until SIGTERM, with a pause after each
// invoice. Each invoice is one transaction of six rows in
// five tables. The file gets the hash of each invoice whose transaction was committed.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lightningnetwork/lnd/sqldb"
	"github.com/lightningnetwork/lnd/sqldb/sqlc"
)

func main() {
	invoices := flag.Int64("invoices", 0, "")
	flag.Parse()
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	store, err := sqldb.NewPostgresStore(&sqldb.PostgresConfig{Dsn: os.Getenv("LND_DSN"), MaxConnections: 4})
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.OpenFile(flag.Arg(0), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	executor := sqldb.NewTransactionExecutor(store, store.WithTx, sqldb.WithTxRetries(100))
	var (
		begun, failed atomic.Int64
		mu            sync.Mutex
		count         int
		workers       sync.WaitGroup
	)
	for range 4 {
		workers.Go(func() {
			for stopped.Err() == nil && (*invoices == 0 || begun.Add(1) <= *invoices) {
				if *invoices == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				hash := make([]byte, 32)
				rand.Read(hash)
				if err := save(executor, hash); err != nil {
					failed.Add(1)
					log.Print(err)
					continue
				}
				mu.Lock()
				count++
				_, err := fmt.Fprintln(file, hex.EncodeToString(hash))
				mu.Unlock()
				if err != nil {
					log.Fatal(err)
				}
			}
		})
	}
	workers.Wait()
	fmt.Printf("saved %d, failed %d\n", count, failed.Load())
}

type writes struct{}

func (writes) ReadOnly() bool { return false }

// save stores an invoice with two features, an HTLC with a custom record, and an event. Each
// child has something of the hash, by which the engine can say whether it has the right
// parent.
func save(executor *sqldb.TransactionExecutor[*sqlc.Queries], hash []byte) error {
	ctx, now := context.Background(), time.Now().UTC().Truncate(time.Microsecond)
	first := int32(binary.BigEndian.Uint32(hash) >> 2)
	return executor.ExecTx(ctx, writes{}, func(q *sqlc.Queries) error {
		invoice, err := q.InsertInvoice(ctx, sqlc.InsertInvoiceParams{
			Hash: hash, AmountMsat: 1000, Expiry: 3600, PaymentAddr: hash, PaymentRequestHash: hash, CreatedAt: now,
		})
		if err != nil {
			return err
		}
		for i := range int32(2) {
			if err := q.InsertInvoiceFeature(ctx, sqlc.InsertInvoiceFeatureParams{InvoiceID: invoice, Feature: first + i}); err != nil {
				return err
			}
		}
		htlc, err := q.InsertInvoiceHTLC(ctx, sqlc.InsertInvoiceHTLCParams{
			HtlcID: int64(first), ChanID: hex.EncodeToString(hash), AmountMsat: 1000, AcceptTime: now, InvoiceID: invoice,
		})
		if err != nil {
			return err
		}
		if err := q.InsertInvoiceHTLCCustomRecord(ctx, sqlc.InsertInvoiceHTLCCustomRecordParams{Key: 1, Value: hash, HtlcID: htlc}); err != nil {
			return err
		}
		return q.OnInvoiceCreated(ctx, sqlc.OnInvoiceCreatedParams{AddedAt: now, InvoiceID: invoice})
	}, func() {})
}
