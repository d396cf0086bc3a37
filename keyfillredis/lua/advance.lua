-- Makes the state stand at ARGV[6] or above.
if less(next, ARGV[6]) then
	set('next', ARGV[6])
end
commit()
return {question, 'ok'}
