-- Compares the file saved, the hashes of the invoices whose transactions were committed,
-- with the tables. Each child has something of its parent's hash.
\set ON_ERROR_STOP on
CREATE TEMP TABLE saved (hash text);
\copy saved FROM 'saved'
ANALYZE;
WITH whole AS (
  SELECT s.hash FROM saved s
  JOIN invoices i ON i.hash = decode(s.hash, 'hex')
  JOIN invoice_features f ON f.invoice_id = i.id AND f.feature = ('x' || left(s.hash, 8))::bit(32)::bigint >> 2
  JOIN invoice_features g ON g.invoice_id = i.id AND g.feature = f.feature + 1
  JOIN invoice_htlcs h ON h.invoice_id = i.id AND h.chan_id = s.hash AND h.htlc_id = f.feature
  JOIN invoice_htlc_custom_records r ON r.htlc_id = h.id AND r.value = i.hash
  JOIN invoice_events e ON e.invoice_id = i.id AND e.added_at = i.created_at)
SELECT (SELECT count(*) FROM saved) AS saved,
  (SELECT count(*) FROM (SELECT hash FROM saved EXCEPT ALL SELECT hash FROM whole) m) AS wrong;
