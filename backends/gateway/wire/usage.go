package wire

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Usage is the token count of one answer, counted as in chat completions: Prompt includes the cached tokens and those
// written to the cache, Completion includes the reasoning.
type Usage struct {
	Prompt, Completion    int64
	CacheRead, CacheWrite int64
	CacheWriteHour        int64 // the part of CacheWrite that is kept for an hour
	Reasoning             int64
	Known                 bool    // the upstream stated the usage
	Served                *Served // nil for ordinary service
}

// ScanUsage scans a usage object of the chat format, or null, and stores the counts in usage. stored reports whether it
// did so: an object without prompt and completion tokens is ignored, since some upstreams send zeros until they know
// the numbers.
func ScanUsage(s *jsontext.Scanner, usage *Usage) (stored bool, err error) {
	if s.Kind() != jsontext.Object {
		return false, s.Skip()
	}
	u, total := Usage{Known: true, Served: usage.Served}, int64(0)
	err = s.Object(func(key []byte) error {
		switch string(key) {
		case "prompt_tokens":
			return s.Count(&u.Prompt)
		case "completion_tokens":
			return s.Count(&u.Completion)
		case "total_tokens":
			return s.Count(&total)
		case "prompt_cache_hit_tokens": // DeepSeek
			return s.Count(&u.CacheRead)
		case "prompt_tokens_details", "completion_tokens_details":
			return u.ScanDetails(s)
		case "server_tool_use": // OpenRouter
			return ScanServedCalls(s, &u.Served)
		default:
			return s.Skip()
		}
	})
	return u.Keep(total, usage), err
}

// ScanDetails scans prompt_tokens_details or completion_tokens_details into u. One method serves both objects, since
// they have different field names, and the Responses format uses the same names.
func (u *Usage) ScanDetails(s *jsontext.Scanner) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "cached_tokens":
			return s.Count(&u.CacheRead)
		case "cache_write_tokens":
			return s.Count(&u.CacheWrite)
		case "reasoning_tokens":
			return s.Count(&u.Reasoning)
		default:
			return s.Skip()
		}
	})
}

// Keep stores u in *usage unless u counts no tokens, and reports whether it stored u. total is the total number of
// tokens that the provider stated. If the total shows that the provider left the reasoning tokens out of the completion
// tokens, Keep adds them.
func (u *Usage) Keep(total int64, usage *Usage) bool {
	if u.Reasoning > 0 && total == u.Prompt+u.Completion+u.Reasoning {
		u.Completion += u.Reasoning
	}
	if u.Prompt == 0 && u.Completion == 0 {
		return false
	}
	*usage = *u
	return true
}

// EstimateTokens returns the usual number of tokens in a text of the given number of bytes: one for 3.6 bytes, rounded
// up.
func EstimateTokens(bytes int64) int64 { return (bytes*10 + 35) / 36 }

// AppendUsage appends the usage object of chat completions.
func AppendUsage(dst []byte, u *Usage) []byte {
	for _, m := range [...]struct {
		name  string
		value int64
	}{
		{`{"prompt_tokens":`, u.Prompt},
		{`,"completion_tokens":`, u.Completion},
		{`,"total_tokens":`, u.Prompt + u.Completion},
		{`,"prompt_tokens_details":{"cached_tokens":`, u.CacheRead},
		{`,"cache_write_tokens":`, u.CacheWrite},
		{`},"completion_tokens_details":{"reasoning_tokens":`, u.Reasoning},
	} {
		dst = strconv.AppendInt(append(dst, m.name...), m.value, 10)
	}
	return append(dst, "}}"...)
}
