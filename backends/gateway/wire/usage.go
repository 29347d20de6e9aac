package wire

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Usage is the token count of one answer in the way of chat completions: cached and written tokens are included in
// Prompt, reasoning in Completion.
type Usage struct {
	Prompt, Completion    int64
	CacheRead, CacheWrite int64
	CacheWriteHour        int64 // the part of CacheWrite that is kept for an hour
	Reasoning             int64
	Known                 bool    // the upstream stated it
	Served                *Served // nil if the request was served in the ordinary way
}

// ScanUsage scans a usage object of the chat format, or null, and stores it in last if it has tokens of the prompt or
// of the answer, which counts reports. Some upstreams send zeros while they do not know yet.
func ScanUsage(s *jsontext.Scanner, last *Usage) (counts bool, err error) {
	if s.Kind() != jsontext.Object {
		return false, s.Skip()
	}
	u, total := Usage{Known: true, Served: last.Served}, int64(0)
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
	return u.Keep(total, last), err
}

// ScanDetails scans the details of prompt or completion tokens. Their member names are distinct, and the same in the
// Responses format.
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

// Keep stores u in last if it counts anything, and reports whether it does. If the total shows that a provider leaves
// reasoning out of the completion tokens, it is added (specification 5.1).
func (u *Usage) Keep(total int64, last *Usage) bool {
	if u.Reasoning > 0 && total == u.Prompt+u.Completion+u.Reasoning {
		u.Completion += u.Reasoning
	}
	if u.Prompt == 0 && u.Completion == 0 {
		return false
	}
	*last = *u
	return true
}

// EstimateTokens returns the number of tokens in so many bytes of ordinary text.
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
