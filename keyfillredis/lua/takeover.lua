-- Makes the lowest series without a lease that has room the owner's, for ARGV[8]
-- milliseconds, and removes those that are used up. ARGV[7] is how many integers it has to
-- have behind the next one.
local time = now()
local function is_free(one) return less(one.ends, time) end

for _, one in ipairs(rows) do
	if is_free(one) and is_spent(one) then
		redis.call('HDEL', key, 'series:' .. one.first)
	end
end
local one = lowest(function(one)
	return is_free(one) and not less(one.last, plus(one.next, ARGV[7]))
end)
if one then
	one.owner, one.epoch, one.ends = owner, plus(one.epoch, '1'), plus(time, ARGV[8])
	put(one)
	commit()
end
return told('ok', one)
