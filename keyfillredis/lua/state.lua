-- Follows question.lua in the scripts about a state, which is a hash. ARGV[2] and ARGV[3]
-- are the kind of its source and the parameters. ARGV[4] is the first integer of a state
-- that is to be made where it is missing, and ARGV[5] its incarnation; '' makes none.
local found = redis.call('HMGET', key, 'kind', 'parameters', 'next', 'incarnation')
local next, incarnation, change = found[3], found[4] or '', {}
if not found[1] and redis.call('EXISTS', key) == 0 then
	if ARGV[4] == '' then
		return {question, 'missing'}
	end
	next, incarnation = ARGV[4], ARGV[5]
	change = {'kind', ARGV[2], 'parameters', ARGV[3], 'next', next, 'incarnation', incarnation}
elseif not found[1] then
	return {question, 'value'}
elseif found[1] ~= ARGV[2] then
	return {question, 'kind'}
elseif found[2] ~= ARGV[3] then
	return {question, 'parameters'}
elseif not is_integer(next) or next == '0' then
	return {question, 'value'}
end

local function set(field, value)
	change[#change + 1] = field
	change[#change + 1] = value
end

-- commit makes all changes by one command, so that nothing has a part of them: neither the
-- file of commands nor a replica.
local function commit()
	if #change > 0 then
		redis.call('HSET', key, unpack(change))
	end
end
