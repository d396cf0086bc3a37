// Package truth proves that keyfill reports only keys which are stored: by Record,
// RETURNING and LastInsertId, in explanations and statistics, beside triggers, views
// and temporary tables, and after statements that left rows out.
package truth
