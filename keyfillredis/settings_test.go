package keyfillredis_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// page returns the words of the block of docs/operating.md that begins with a text.
func page(t *testing.T, begins string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../docs/operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```text\n"+begins)
	block, _, ends := strings.Cut(after, "```")
	if !found || !ends {
		t.Fatalf("the page has no block that begins with %q", begins)
	}
	return strings.Fields(block)
}

// TestRights: a user with the rights that the page lists can do everything, and the error of
// a user who lacks one says so.
func TestRights(t *testing.T) {
	rights := page(t, "ACL SETUSER shop on >password ")
	server := testdb.StartRedis(t)
	grant := func(rules ...string) {
		t.Helper()
		server.Command(t, append([]string{"ACL", "SETUSER", "shop", "reset", "on", ">secret"}, rules...)...)
	}
	open := func(t *testing.T, password string) keysource.Store {
		t.Helper()
		s, err := keyfillredis.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: []string{server.Addr()}, User: "shop", Password: password})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, keysource.ErrStoreState) || !errors.Is(err, keysource.ErrStoreRefused) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", what, err)
		}
	}
	grant(rights...)
	s := open(t, "secret")
	for _, kind := range storetest.Kinds {
		var all storetest.Seen
		draw(t, &all, s, kind, "one", 50)
	}
	if err := s.Bind(t.Context(), state("orders"), "orders.id"); err != nil {
		t.Errorf("Bind: %v", err)
	}
	rows := storetest.SourceOptions{Kind: "series", Name: "series", Owner: "two", Lease: lease}.Series(s)
	one, err := rows.TakeOver(t.Context(), 1)
	if err != nil || one.First == 0 {
		t.Errorf("TakeOver: %+v, %v", one, err)
	}
	if one, _, err = rows.Move(t.Context(), one, one.Last+1); err != nil {
		t.Errorf("Move: %v", err)
	}
	if err := rows.GiveUp(t.Context(), one, one.Next); err != nil {
		t.Errorf("GiveUp: %v", err)
	}
	for i := range rights[2:] {
		without := append([]string{}, rights...)
		without[i+2] = "-" + without[i+2][1:]
		grant(without...)
		server.Command(t, "SCRIPT", "FLUSH")
		s := open(t, "secret")
		_, reserveErr := s.Reserver(state("other "+without[i+2])).Reserve(t.Context(), 1, 0)
		_, openErr := s.Series(state("rows "+without[i+2]), keysource.SeriesOwner{Size: 1, Lease: lease, Owner: "one"}).Open(t.Context(), 0)
		if reserveErr == nil && openErr == nil && without[i+2] != "-hget" && without[i+2] != "-hdel" {
			t.Errorf("the right %s is of no use", rights[i+2])
		}
		for _, err := range []error{reserveErr, openErr} {
			if err != nil {
				refused("without "+rights[i+2], err)
			}
		}
	}
	// A DSN with the number of a database needs one right more.
	grant(append(slices.Clone(rights), "+select")...)
	second, err := keyfillredis.Driver{}.OpenStore("redis://shop:secret@" + server.Addr() + "/1")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := second.Reserver(state("orders")).Reserve(t.Context(), 1, 0); err != nil {
		t.Errorf("in another database: %v", err)
	}
	grant(rights...)
	_, err = open(t, "wrong").Reserver(state("orders")).Reserve(t.Context(), 1, 0)
	refused("a wrong password", err)
	server.Command(t, "CONFIG", "SET", "requirepass", "secret")
	_, err = opened(t, server).Reserver(state("orders")).Reserve(t.Context(), 1, 0)
	refused("no password", err)
}

// TestRefusedUser: the error of a password that is refused says where it stands: in the fields of
// the policy, in its DSN, or in the program.
func TestRefusedUser(t *testing.T) {
	t.Parallel()
	server := testdb.StartRedis(t)
	server.Command(t, "ACL", "SETUSER", "shop", "on", ">secret", "~*", "+@all")
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "shop", Password: "wrong"})
	t.Cleanup(func() { _ = client.Close() })
	name := "redis-" + t.Name()
	if err := keyfillredis.Register(name, client); err != nil {
		t.Fatal(err)
	}
	byDSN, err := keyfillredis.Driver{}.OpenStore("redis://shop:wrong@" + server.Addr() + "/0")
	if err != nil {
		t.Fatal(err)
	}
	byFields, err := keyfillredis.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: []string{server.Addr()}, User: "shop", Password: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]keysource.Store{
		"mend user_env and password_env": byFields, "mend the DSN": byDSN, "mend the client that the program has given": registered(t, name, ""),
	} {
		if _, err := s.Reserver(state("orders")).Reserve(t.Context(), 1, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a wrong password: %v, want %q", err, want)
		}
		_ = s.Close()
	}
}

// TestRefused: a refusal that lasts until an operator repairs something is an error that
// names the repair.
func TestRefused(t *testing.T) {
	full := testdb.StartRedis(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	node, single := testdb.StartRedisCluster(t, 2), shared.Need(t)
	for _, c := range []struct {
		what    string
		servers []*testdb.RedisServer
		want    string
	}{
		{"a full server", []*testdb.RedisServer{full}, "memory is used up"},
		{"servers that are no cluster", []*testdb.RedisServer{single, single}, "no Redis Cluster"},
	} {
		_, err := opened(t, c.servers...).Reserver(state("orders")).Reserve(t.Context(), 1, 0)
		if !errors.Is(err, keysource.ErrStoreRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	s, err := keyfillredis.Driver{}.OpenStore("redis://" + single.Addr() + "/99")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Reserver(state("orders")).Reserve(t.Context(), 1, 0)
	if !errors.Is(err, keysource.ErrStoreRefused) || !strings.Contains(err.Error(), "write /0") {
		t.Errorf("a database that is not there: %v", err)
	}
	said := 0
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} { // of which some are the other node's
		if _, err := opened(t, node[0]).Reserver(state(name)).Reserve(t.Context(), 1, 0); err != nil {
			said++
			if !errors.Is(err, keysource.ErrStoreRefused) || !strings.Contains(err.Error(), "name a second node") {
				t.Errorf("one node of a cluster: %v", err)
			}
		}
	}
	if said == 0 {
		t.Error("no state was the other node's")
	}
}

// TestSettings: settings that lose numbers are logged once, and the settings of the page
// are not.
func TestSettings(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	var good []string
	for i, word := range page(t, "") {
		if i%2 == 0 {
			word = "--" + word
		}
		good = append(good, word)
	}
	if len(good) < 8 {
		t.Errorf("the page has the settings %q", good)
	}
	for _, c := range []struct{ options, want []string }{
		{good, nil},
		{[]string{"--maxmemory-policy", "volatile-lru"}, nil},
		{[]string{"--appendonly", "no"}, []string{"level=WARN", "may lose numbers", "appendonly=no"}},
		{[]string{"--appendfsync", "everysec"}, []string{"level=WARN", "appendfsync=everysec"}},
		{[]string{"--no-appendfsync-on-rewrite", "yes"}, []string{"no-appendfsync-on-rewrite=yes"}},
		{[]string{"--maxmemory-policy", "allkeys-lru"}, []string{"maxmemory-policy=allkeys-lru"}},
		{[]string{"--rename-command", "CONFIG", ""}, []string{"level=INFO", "does not say"}},
	} {
		log.Reset()
		r := opened(t, testdb.StartRedis(t, c.options...)).Reserver(state("orders"))
		for range 3 {
			storetest.Await(t, r, 1, 0)
		}
		text := log.String()
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q: the log is %q, want %q", c.options, text, want)
			}
		}
		if lines := strings.Count(text, "\n"); lines != min(len(c.want), 1) {
			t.Errorf("%q: the log has %d lines: %s", c.options, lines, text)
		}
	}
}
