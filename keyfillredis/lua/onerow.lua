-- Follows series.lua in the scripts about one series, whose first integer is ARGV[7].
-- ARGV[8] and ARGV[9] are its count of owners and where it stands, as the caller knows it.
local one
local text = redis.call('HGET', key, 'series:' .. ARGV[7])
if text then
	one = parse(ARGV[7], text)
	if not one then
		return {question, 'value'}
	end
end
local held = one and is_mine(one) and one.epoch == ARGV[8]
