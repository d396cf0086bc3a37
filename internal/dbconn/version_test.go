package dbconn_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/dbconn"
)

// TestMajorMinor: the two numbers that a server's version begins with count.
func TestMajorMinor(t *testing.T) {
	for _, tt := range []struct {
		version            string
		major, minor, read int
	}{
		{"10.11.19-MariaDB-0+deb12u1", 10, 11, 2},
		{"8.0.36", 8, 0, 2},
		{"15.3 (Debian 15.3-0+deb12u1) on x86_64", 15, 3, 2},
		{"18beta1 on x86_64", 18, 0, 1},
		{"18.", 18, 0, 1},
		{"18", 18, 0, 1},
		{"18.x", 18, 0, 1},
		{"CockroachDB CCL v23.1", 0, 0, 0},
		{"-1.2", 0, 0, 0},
		{"99999999999999999999.1", 0, 0, 0},
		{"", 0, 0, 0},
	} {
		major, minor, read := dbconn.MajorMinor(tt.version)
		if major != tt.major || minor != tt.minor || read != tt.read {
			t.Errorf("MajorMinor(%q) = %d, %d, %d, want %d, %d, %d", tt.version, major, minor, read, tt.major, tt.minor, tt.read)
		}
	}
}
