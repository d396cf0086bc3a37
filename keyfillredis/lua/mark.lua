-- Raises the mark of a worker to ARGV[3], and answers with what it was before. ARGV[2] are
-- the parameters, and ARGV[4] is who raises the mark.
local found = redis.call('HMGET', key, 'parameters', 'until')
local before = '0'
if found[1] or redis.call('EXISTS', key) == 1 then
	if not is_integer(found[2]) then
		return {question, 'value'}
	end
	if found[1] ~= ARGV[2] then
		return {question, 'parameters'}
	end
	before = found[2]
end
if less(before, ARGV[3]) then
	redis.call('HSET', key, 'parameters', ARGV[2], 'until', ARGV[3], 'owner', ARGV[4])
end
return {question, 'ok', before}
