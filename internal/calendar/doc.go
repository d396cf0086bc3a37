// Package calendar divides time into the periods in which numberings begin again: days,
// months, quarters or years. Years may begin on any day, as fiscal years do, and days in any
// time zone.
//
//	c, err := calendar.New("year", "04-01", "Europe/Berlin")
//	…
//	p, err := c.At(time.Now())      // the period of an instant
//	p, err = c.On(2026, time.May, 3) // the period of a date
//	p, err = c.Parse("2026")         // the period of that name
//
// # Names
//
//	year     2026        the calendar year in which it begins
//	quarter  2026-Q3     the year in which its year begins, and the quarter of that year
//	month    2026-11     the calendar month in which it begins
//	day      2026-11-28
//
// Two periods of a calendar have different names, and their names sort, byte by byte, as the
// periods do. Years have four digits: 0001 to 9999.
//
// # Where days begin
//
// A date belongs to a period without regard to a time zone. An instant belongs to a period
// by the zone's rules: a period begins where its first day does, and ends where the next
// period begins, so that each instant belongs to exactly one period.
//
// A day of a zone begins at the first instant from which on the zone shows no earlier date.
// That is midnight on most days. Where clocks are put forward at midnight, it is the instant
// of the change (01:00, as in Sao Paulo until 2018); where they are put back over midnight,
// the day begins at the second midnight. A day that a zone has left out, as Samoa did with
// 2011-12-30, has no instant: its period begins and ends at the same time.
//
// # Caveats
//
// The rules of zones come from the machine (see time.LoadLocation). Two machines may have
// different versions of them, and then differ about days in a zone whose rules have changed.
// This package does not bring rules of its own: a program that runs where there are none can
// import time/tzdata.
package calendar
