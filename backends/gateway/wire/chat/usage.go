package chat

import "github.com/tollgate-gateway/tollgate/backends/gateway/wire"

// scanUsage passes a usage object (or null): the last one that counts anything
// wins. Some upstreams send zeros while they do not know yet.
func scanUsage(s *wire.Scanner, last *wire.Usage) error {
	if s.Kind() != wire.Object {
		return s.Skip()
	}
	u, total := wire.Usage{Known: true}, int64(0)
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "prompt_tokens":
			return count(s, &u.Prompt)
		case "completion_tokens":
			return count(s, &u.Completion)
		case "total_tokens":
			return count(s, &total)
		case "prompt_cache_hit_tokens": // DeepSeek
			return count(s, &u.CacheRead)
		case "prompt_tokens_details", "completion_tokens_details":
			return scanCounts(s, &u)
		}
		return s.Skip()
	})
	// Some providers leave reasoning out of the completion (specification 5.1).
	if u.Reasoning > 0 && total == u.Prompt+u.Completion+u.Reasoning {
		u.Completion += u.Reasoning
	}
	if u.Prompt > 0 || u.Completion > 0 {
		*last = u
	}
	return err
}

// scanCounts passes the details of either side; their names are distinct.
func scanCounts(s *wire.Scanner, u *wire.Usage) error {
	if s.Kind() != wire.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "cached_tokens":
			return count(s, &u.CacheRead)
		case "cache_write_tokens":
			return count(s, &u.CacheWrite)
		case "reasoning_tokens":
			return count(s, &u.Reasoning)
		}
		return s.Skip()
	})
}

// count passes a number; what is negative, fractional or no number counts 0.
func count(s *wire.Scanner, into *int64) error {
	if s.Kind() != wire.Number {
		return s.Skip()
	}
	n, ok, err := s.Int()
	if ok && n > 0 {
		*into = n
	}
	return err
}
