-- Ends the owner's right to a series. Where the series stands as the caller knows it, it
-- stands at ARGV[10] after that.
if held then
	if one.next == ARGV[9] then
		one.next = ARGV[10]
	end
	if is_spent(one) then
		redis.call('HDEL', key, 'series:' .. one.first)
	else
		one.owner, one.ends = '', '0'
		put(one)
		commit()
	end
end
return {question, 'ok'}
