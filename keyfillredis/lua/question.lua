-- Begins every script. KEYS[1] is the one key that the script touches. ARGV[1] names the
-- question and begins the answer, so that no answer is taken for the answer to another one.
local key, question = KEYS[1], ARGV[1]

-- Lua has doubles alone, which are exact up to 2^53. An integer is a text of digits here, and
-- is compared and added in two halves: the last nine digits, and those before them.
local function halves(digits)
	return tonumber(string.sub(digits, 1, -10)) or 0, tonumber(string.sub(digits, -9))
end

local function less(a, b)
	local a_high, a_low = halves(a)
	local b_high, b_low = halves(b)
	return a_high < b_high or a_high == b_high and a_low < b_low
end

local function plus(a, b)
	local a_high, a_low = halves(a)
	local b_high, b_low = halves(b)
	local high, low = a_high + b_high, a_low + b_low
	if low >= 1e9 then
		high, low = high + 1, low - 1e9
	end
	if high == 0 then
		return string.format('%.0f', low)
	end
	return string.format('%.0f%09.0f', high, low)
end

-- is_integer reports whether a value is one that the scripts write: nobody else has put
-- something in its place.
local function is_integer(value)
	return value and #value <= 19 and string.find(value, '^%d+$') and (value == '0' or string.sub(value, 1, 1) ~= '0')
end

-- A replica may be told to take writes, which it forgets when it hears from its primary.
local replication = redis.call('INFO', 'replication')
if string.find(replication, 'role:slave', 1, true) then
	return redis.error_reply('READONLY the server is a replica')
end
