-- Takes one of the places of a key for a holder. Returns 1 if a place was free, and 0 otherwise.
--   KEYS[1] the sorted set of the holders; the score is the time in milliseconds at which the place becomes free
--   ARGV[1] the current time in milliseconds; 0 means the server's clock
--   ARGV[2] the time for which the place is held, in milliseconds
--   ARGV[3] the number of places
--   ARGV[4] the holder
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
