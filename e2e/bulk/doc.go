// Package bulk proves bulk loads: COPY through lib/pq and pgx, and the bulk load of SQL
// Server on the wire.
package bulk
