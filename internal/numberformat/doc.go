// Package numberformat writes and reads the texts of numbers that people see, as
// INV-2026-00042.
//
// A template is text with fields in braces:
//
//	{n}            the number, in decimal digits: 1, 2, … 10
//	{n:05}         the number in exactly so many digits: 00001; one that needs more is an error
//	{n:base32}     the number in Crockford's base 32, which has no I, L, O and U
//	{year} {yy}    the year in which the period begins: 2026, 26
//	{fy}           a year that begins in one calendar year and ends in the next: 2025-26
//	{quarter}      1 to 4, counted from the beginning of the year
//	{month:02}     the month in which the period begins, in two digits; {month} without a zero
//	{day:02}       the day likewise
//	{schema}       the table's schema
//	{table}        the table's name
//	{value:x}      the value x that comes with the execution
//	{column:x}     the column x of the row
//	{luhn}         a check digit of the digits before it: ISO/IEC 7812-1, annex B
//	{mod97}        two check digits of the text before it: ISO/IEC 7064, MOD 97-10
//
// A brace that is text is written twice: {{ and }}.
//
// Each text belongs to one number of one numbering: [Template.Determines] refuses a template
// whose texts could be equal for two of them. [Template.Read] finds the number in a text.
// A template never changes and is safe for concurrent use.
package numberformat
