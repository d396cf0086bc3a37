package storetest

import (
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// Server describes how programs reach the server of a store. Tests that drop answers or
// start processes need it.
type Server struct {
	Driver keysource.StoreDriver
	Scheme string // the beginning of a DSN, before the address
	Addr   string // host:port; several servers have commas between them

	// Answers reports whether bytes that the server has sent hold an answer to a store.
	Answers func(bytes []byte) bool
}

// open opens a store through an address. The test closes it.
func (s *Server) open(t testing.TB, addr string) keysource.Store {
	t.Helper()
	store, err := s.Driver.OpenStore(s.Scheme + addr)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
