package testdb_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
)

// TestRedis: what a server has answered survives SIGKILL, a copy of its data is put back,
// and a replica has the data of its primary.
func TestRedis(t *testing.T) {
	s := testdb.StartRedis(t)
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"SET", "a b", "line\r\nfeed"}, "OK"},
		{[]string{"GET", "a b"}, "line\r\nfeed"},
		{[]string{"GET", "none"}, ""},
		{[]string{"INCR", "n"}, "1"},
		{[]string{"MGET", "n", "none", "n"}, "1\n\n1"},
	} {
		if got := s.Command(t, c.words...); got != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
	replica := testdb.StartRedis(t)
	replica.Follow(t, s)
	s.Kill(t)
	restore := s.Save(t)
	s.Restart(t)
	if got := s.Command(t, "INCR", "n"); got != "2" {
		t.Errorf("after Kill and Restart: %q, want 2", got)
	}
	s.Kill(t)
	restore()
	s.Restart(t)
	if got := s.Command(t, "GET", "n"); got != "1" {
		t.Errorf("after a copy was put back: %q, want 1", got)
	}
	replica.Follow(t, nil)
	if got := replica.Command(t, "INCR", "n"); got != "2" && got != "3" {
		t.Errorf("a replica that was made the primary: %q", got)
	}
}

// TestRedisCluster: each node knows the others, and has its slots.
func TestRedisCluster(t *testing.T) {
	nodes := testdb.StartRedisCluster(t, 3)
	for _, s := range nodes {
		if info := s.Command(t, "CLUSTER", "INFO"); !strings.Contains(info, "cluster_slots_ok:16384") {
			t.Errorf("the slots of the cluster: %s", info)
		}
	}
}

// TestRedisSentinel: a sentinel makes the replica of a primary that was killed the primary.
func TestRedisSentinel(t *testing.T) {
	primary, replica := testdb.StartRedis(t), testdb.StartRedis(t)
	replica.Follow(t, primary)
	sentinel := testdb.StartRedisSentinel(t, primary)
	sentinel.Await(t, "the sentinel", func() bool {
		return strings.Contains(sentinel.Command(t, "INFO", "sentinel"), "slaves=1")
	})
	primary.Kill(t)
	sentinel.Command(t, "SENTINEL", "SET", "main", "down-after-milliseconds", "1000")
	replica.Await(t, "the replica", func() bool {
		role, err := replica.Ask("ROLE")
		return err == nil && strings.HasPrefix(role, "master")
	})
}

// TestShared: a server that tests share starts once, ends with the program, and does not
// start after that.
func TestShared(t *testing.T) {
	s := testdb.SharedRedis()
	one, again := s.Need(t), s.Need(t)
	if one != again || one.Command(t, "PING") != "PONG" {
		t.Error("two tests have two servers")
	}
	s.Discard()
	if _, err := one.Ask("PING"); err == nil {
		t.Error("the server is still running")
	}
	unused := testdb.SharedRedis()
	unused.Discard()
	if err := unused.Start(); err == nil {
		t.Error("a server has started after the tests")
	}
}
