package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
