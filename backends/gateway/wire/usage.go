package wire

// Usage is the token count of one answer, as chat completions count: cached
// and written tokens are inside Prompt, reasoning inside Completion.
type Usage struct {
	Prompt, Completion    int64
	CacheRead, CacheWrite int64
	Reasoning             int64
	total                 int64
	Known                 bool // the upstream sent one
}

// scanUsage passes a usage object (or null): the last one that counts anything
// wins. Some upstreams send zeros while they do not know yet.
func scanUsage(s *Scanner, last *Usage) error {
	if s.Kind() != Object {
		return s.Skip()
	}
	u := &Usage{Known: true}
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "prompt_tokens":
			return count(s, &u.Prompt)
		case "completion_tokens":
			return count(s, &u.Completion)
		case "total_tokens":
			return count(s, &u.total)
		case "prompt_cache_hit_tokens": // DeepSeek
			return count(s, &u.CacheRead)
		case "prompt_tokens_details":
			return details(s, "cached_tokens", &u.CacheRead, "cache_write_tokens", &u.CacheWrite)
		case "completion_tokens_details":
			return details(s, "reasoning_tokens", &u.Reasoning, "", nil)
		default:
			return s.Skip()
		}
	})
	// Some providers leave reasoning out of the completion (specification 5.1).
	if u.Reasoning > 0 && u.total == u.Prompt+u.Completion+u.Reasoning {
		u.Completion += u.Reasoning
	}
	if u.Prompt > 0 || u.Completion > 0 {
		*last = *u
	}
	return err
}

// details passes an object and takes one or two counts (b not nil) from it.
func details(s *Scanner, nameA string, a *int64, nameB string, b *int64) error {
	if s.Kind() != Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		switch {
		case string(key) == nameA:
			return count(s, a)
		case string(key) == nameB && b != nil:
			return count(s, b)
		default:
			return s.Skip()
		}
	})
}

// count passes a number; what is negative, fractional or no number counts 0.
func count(s *Scanner, into *int64) error {
	if s.Kind() != Number {
		return s.Skip()
	}
	n, ok, err := s.Int()
	if ok && n > 0 {
		*into = n
	}
	return err
}
