-- Makes a new series for the owner, unless the state stands below ARGV[7]. The series has
-- ARGV[8] integers behind its first one, and fits where the first is ARGV[9] or less. Its
-- lease lasts for ARGV[10] milliseconds.
if less(next, ARGV[7]) then
	commit()
	return {question, 'below', next}
end
if less(ARGV[9], next) then
	commit()
	return {question, 'exhausted'}
end
-- Where somebody has set the state back by hand, another series has these integers.
for _, one in ipairs(rows) do
	if not less(one.last, next) then
		return {question, 'uncounted'}
	end
end
local last = plus(next, ARGV[8])
local one = {first = next, last = last, next = next, epoch = '1', ends = plus(now(), ARGV[10]), owner = owner}
set('next', plus(last, '1'))
put(one)
commit()
return told('ok', one)
