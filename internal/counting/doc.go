// Package counting makes integers whose state is in a store that the processes share.
//
//	Sequence   blocks of integers from a [keysource.Reserver]
//	Recycled   integers of a series that the process owns, from a [keysource.SeriesStore]
//	Snowflake  integers of the time, a worker's number and a counter; a
//	           [keysource.Marker] keeps the time that is used
//	Leased     snowflakes whose worker's number is leased, as a series is
//
// It knows neither SQL nor drivers. Every source is safe for concurrent use and holds no
// lock while it waits. Its errors are the ones of package keysource.
package counting
