-- Loads the sliding window of KEYS[1]. Numbers are integers below 2^53, exact in
-- doubles; math.fmod is used because Lua 5.1's % rounds its quotient.
--   ARGV[1] the current time in microseconds; 0 means the server's clock
--   ARGV[2] width of the window in microseconds
--   ARGV[3] cost
--   ARGV[4] limit
local now, width = tonumber(ARGV[1]), tonumber(ARGV[2])
local cost, limit = tonumber(ARGV[3]), tonumber(ARGV[4])
if now == 0 then
	local t = redis.call('TIME')
	now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
local into = math.fmod(now, width)
local bucket, rest = (now - into) / width, width - into
local current, previous = 0, 0

local text = redis.call('GET', KEYS[1])
if text then
	local b, c, p = string.match(text, '^(%d+) (%d+) (%d+)$')
	local age = b and bucket - tonumber(b)
	if age == 0 then
		current, previous = tonumber(c), tonumber(p)
	elseif age == 1 then
		previous = tonumber(c)
	elseif age == -1 then -- the clock was set back: stay where the window was
		bucket, rest = bucket + 1, width
		current, previous = tonumber(c), tonumber(p)
	end
end

-- save stores the window. Redis deletes it after two widths, when it cannot count any more.
local function save()
	redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f', bucket, current, previous),
		'PX', string.format('%.0f', math.ceil(2 * width / 1000)))
end
