-- Writes nothing, as somebody who may write, and tells what a change would be answered with.
-- A user without the right to HDEL, which few changes need, is told nothing.
local written = redis.pcall('HDEL', key, '-')
if type(written) == 'table' and written.err and not (string.find(written.err, 'ACL failure', 1, true) or string.find(written.err, "can't run this command", 1, true)) then
	return written
end
-- Every change needs HSET. Without arguments it does nothing, and is unknown where it has
-- another name. From Redis 7 on the server tells whether the user may call it.
local empty = redis.pcall('HSET')
if type(empty) == 'table' and empty.err and string.find(empty.err, 'Unknown', 1, true) then
	return empty
end
if redis.acl_check_cmd and not redis.acl_check_cmd('HSET', key, '-', '-') then
	return redis.error_reply('NOPERM the user may not call HSET')
end
local memory = redis.call('INFO', 'memory')
local function figure(name) return tonumber(string.match(memory, '\n' .. name .. ':(%d+)')) or 0 end
if string.find(memory, 'maxmemory_policy:noeviction', 1, true) and figure('maxmemory') > 0 and figure('used_memory') > figure('maxmemory') then
	return redis.error_reply('OOM the memory is used up')
end
return {question, 'ok'}
