-- Follows state.lua in the scripts about series. The field series:N of the state is the
-- series whose first integer is N: its last integer, the lowest one that is not reserved, a
-- count of its owners, the time in milliseconds since 1970 until which its lease lasts, and
-- its owner, '' for none. The owner of a script is ARGV[6].
local owner = ARGV[6]

local function parse(first, text)
	local last, at, epoch, ends, who = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (.*)$')
	if not (is_integer(last) and is_integer(at) and is_integer(epoch) and is_integer(ends)) then
		return nil
	end
	if less(at, first) or less(last, first) then
		return nil
	end
	return {first = first, last = last, next = at, epoch = epoch, ends = ends, owner = who}
end

local function is_mine(one) return one.owner == owner end

local function is_spent(one) return less(one.last, one.next) end

-- put notes what has become of a series; see commit.
local function put(one)
	set('series:' .. one.first, table.concat({one.last, one.next, one.epoch, one.ends, one.owner}, ' '))
end

local function told(status, one)
	if not one then
		return {question, 'none'}
	end
	return {question, status, one.first, one.last, one.next, one.epoch, is_mine(one) and 'own' or ''}
end

local function now()
	local time = redis.call('TIME')
	return string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
end
