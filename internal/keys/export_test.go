package keys

import "github.com/keyfill/keyfill/internal/keys/table"

// AskCatalog opens the wait for the catalog to tests.
var AskCatalog = table.AskCatalog
