-- Reserves ARGV[6] integers, or the rest up to ARGV[8], unless the state stands below
-- ARGV[7]. ARGV[9] is the greatest integer from which all of them fit, ARGV[10] the one
-- behind ARGV[8].
local want, seen, max, fit, beyond = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local first, status = next, 'ok'
if less(next, seen) then
	status = 'below'
elseif less(max, next) then
	status = 'exhausted'
elseif less(fit, next) then
	set('next', beyond)
else
	set('next', plus(next, want))
end
commit()
-- The name of the server: another process has another run_id, and a replica that becomes
-- the primary begins another history.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local history = string.match(replication, 'master_replid:(%w+)') or ''
return {question, status, first, incarnation .. '@' .. run .. '+' .. history}
