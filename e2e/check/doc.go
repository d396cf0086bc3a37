// Package check holds the tests of what keyfill check finds: planted faults on SQLite,
// MariaDB and PostgreSQL, each of which its remedy mends, and databases without any.
package check
