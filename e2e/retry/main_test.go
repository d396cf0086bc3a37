package retry_test

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

func init() {
	// The driver's remarks on connections that these tests end.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) { harness.Main(m) }
