-- Follows series.lua in the scripts about all series of a state.
local rows, fields = {}, redis.call('HGETALL', key)
for i = 1, #fields, 2 do
	local first = string.match(fields[i], '^series:(%d+)$')
	if first then
		local one = is_integer(first) and parse(first, fields[i + 1])
		if not one then
			return {question, 'value'}
		end
		rows[#rows + 1] = one
	end
end

-- lowest returns the lowest series that is fit.
local function lowest(is_fit)
	local found
	for _, one in ipairs(rows) do
		if is_fit(one) and (not found or less(one.first, found.first)) then
			found = one
		end
	end
	return found
end
