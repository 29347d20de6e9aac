package kernel

// Cut returns the first bytes of s, at most limit, without dividing a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xc0 == 0x80 {
		limit--
	}
	return s[:limit]
}
