-- Takes one of the places of a key for a holder. KEYS[1]: a sorted set of holders by when their
-- places are free again, in milliseconds. ARGV: the time, 0 for that of the server; for how long;
-- how many places there are; the holder. Returns 1 where a place was free, else 0.
local now = tonumber(ARGV[1])
if now == 0 then
	local t = redis.call('TIME')
	now = t[1] * 1000 + math.floor(t[2] / 1000)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
	return 0
end
local ttl = tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now + ttl, ARGV[4])
if redis.call('PTTL', KEYS[1]) < ttl then
	redis.call('PEXPIRE', KEYS[1], ttl)
end
return 1
