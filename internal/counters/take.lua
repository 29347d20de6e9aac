
-- carried is ceil(previous * rest / width). The product may need 95 bits, so
-- beyond 53 it is divided ten bits of rest at a time, most significant first;
-- no step exceeds 2048 * width, which is below 2^53.
local function carried()
	local product = previous * rest
	if product < 9007199254740992 then
		local over = math.fmod(product, width)
		return (product - over) / width + (over > 0 and 1 or 0)
	end
	local odd = math.fmod(previous, width)
	local whole, quotient, over = (previous - odd) / width * rest, 0, 0
	local left, scale = rest, 1099511627776 -- 2^40
	while scale >= 1 do
		local digit = math.floor(left / scale)
		left = left - digit * scale
		local step = over * 1024 + odd * digit
		over = math.fmod(step, width)
		quotient = quotient * 1024 + (step - over) / width
		scale = scale / 1024
	end
	return whole + quotient + (over > 0 and 1 or 0)
end

local allowed = 1
if cost > 0 then
	local room = limit - cost - current
	if room >= 0 and carried() <= room then
		current = current + cost
		save()
	else
		allowed = 0
	end
end
return { allowed, current, previous, rest }
