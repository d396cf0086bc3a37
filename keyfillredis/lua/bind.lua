-- Notes that the state ARGV[2] with the parameters ARGV[3] fills a column, unless another
-- state does.
local found = redis.call('HMGET', key, 'state', 'parameters')
if not found[1] then
	if redis.call('EXISTS', key) == 1 then
		return {question, 'value'}
	end
	redis.call('HSET', key, 'state', ARGV[2], 'parameters', ARGV[3])
elseif found[1] ~= ARGV[2] then
	return {question, 'taken'}
elseif found[2] ~= ARGV[3] then
	return {question, 'parameters'}
end
return {question, 'ok'}
