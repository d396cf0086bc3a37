// Package apps proves keyfill below and above what applications use with database/sql:
// GORM, sqlx, otelsql, another interceptor, and code that asks for the connection of
// the driver.
package apps
