-- Reserves the integers of a series up to ARGV[10], exclusive, and makes its lease last for
-- ARGV[11] milliseconds from now on.
if not held or one.next ~= ARGV[9] then
	return told('stays', one)
end
one.next, one.ends = ARGV[10], plus(now(), ARGV[11])
put(one)
commit()
return told('moved', one)
