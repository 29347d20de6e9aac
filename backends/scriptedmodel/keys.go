package scriptedmodel

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// key defines how a key of a script is parsed.
type key struct {
	apply    func(s *script, v string) error // sets the value v in s
	maxCount int                             // how often the key may occur; 0 means once
}

// keys holds all keys of a script. The package comment documents each of them, which a test checks.
var keys = map[string]key{
	"text":      {apply: func(s *script, v string) error { s.text, s.hasText = v, true; return nil }},
	"repeat":    integer(1, 1_000_000, func(s *script) *int { return &s.repeat }),
	"reasoning": {apply: func(s *script, v string) error { s.reasoning, s.hasReasoning = v, true; return nil }},
	"tool":      {apply: applyTool, maxCount: 128},
	"finish":    nonEmpty(64, func(s *script) *string { return &s.finish }),

	"words":       integer(1, maxChunks, func(s *script) *int { return &s.words }),
	"chunks":      integer(1, maxChunks, func(s *script) *int { return &s.chunks }),
	"chunk_bytes": integer(1, 1<<20, func(s *script) *int { return &s.chunkBytes }),
	"delay":       duration(func(s *script) *time.Duration { return &s.delay }),
	"first_delay": duration(func(s *script) *time.Duration { return &s.firstDelay }),
	"chunk_delay": duration(func(s *script) *time.Duration { return &s.chunkDelay }),
	"flush":       {apply: applyFlush},

	"status":      integer(300, 599, func(s *script) *int { return &s.status }),
	"code":        nonEmpty(128, func(s *script) *string { return &s.code }),
	"message":     nonEmpty(64<<10, func(s *script) *string { return &s.message }),
	"retry_after": {apply: applyRetryAfter},
	"header":      {apply: applyHeader, maxCount: 64},
	"body":        {apply: func(s *script, v string) error { s.body, s.hasBody = v, true; return nil }},

	"usage": {apply: func(s *script, v string) error {
		return setNamed(&s.usage, v, map[string]usageMode{"off": usageOff, "finish": usageFinish, "last": usageLast})
	}},
	"prompt_tokens":     integer(0, maxTokens, func(s *script) *int { return &s.promptTokens }),
	"completion_tokens": integer(0, maxTokens, func(s *script) *int { return &s.completionTokens }),
	"cached_tokens":     integer(0, maxTokens, func(s *script) *int { return &s.cachedTokens }),

	"echo": {apply: func(s *script, v string) error {
		return setNamed(&s.echo, v, map[string]echoMode{"headers": echoHeaders, "body": echoBody})
	}},
	"fault":      {apply: applyFault, maxCount: 32},
	"after":      integer(0, maxChunks, func(s *script) *int { return &s.after }),
	"bytes":      integer(1, 64<<20, func(s *script) *int { return &s.bytes }),
	"fail_times": integer(1, 1_000_000, func(s *script) *int { return &s.failTimes }),
	"fail_key":   nonEmpty(128, func(s *script) *string { return &s.failKey }),
}

// maxTokens limits the token counts that a script can set.
const maxTokens = 1_000_000_000

// integer returns a key whose value is an integer from low to high.
func integer(low, high int, field func(*script) *int) key {
	return key{apply: func(s *script, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%q is not a number from %d to %d", shorten(v, 50), low, high)
		}
		*field(s) = n
		return nil
	}}
}

// duration returns a key whose value is a Go duration.
func duration(field func(*script) *time.Duration) key {
	return key{apply: func(s *script, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > maxHold {
			return fmt.Errorf("%q is not a duration from 0s to 10m", shorten(v, 50))
		}
		*field(s) = d
		return nil
	}}
}

// nonEmpty returns a key whose value is a text of 1 to limit bytes.
func nonEmpty(limit int, field func(*script) *string) key {
	return key{apply: func(s *script, v string) error {
		if v == "" || len(v) > limit {
			return fmt.Errorf("the value must have from 1 to %d bytes", limit)
		}
		*field(s) = v
		return nil
	}}
}

// setNamed sets a field to the value with the name v. It returns an error if names has no such value.
func setNamed[T any](field *T, v string, names map[string]T) error {
	x, ok := names[v]
	if !ok {
		return fmt.Errorf("unknown value %q, use one of %s", shorten(v, 50),
			strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
	*field = x
	return nil
}

// applyFault adds a fault.
func applyFault(s *script, v string) error {
	var f fault
	if err := setNamed(&f, v, faultNames); err != nil {
		return err
	}
	s.faults |= f
	return nil
}

// applyFlush sets whether the stream is flushed after every chunk.
func applyFlush(s *script, v string) error {
	return setNamed(&s.flush, v, map[string]bool{"0": false, "1": true})
}

// applyTool adds a tool call in the form name:args. Without the colon, args is {}.
func applyTool(s *script, v string) error {
	name, args, ok := strings.Cut(v, ":")
	if !ok {
		args = "{}"
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !isTokenChar(r) }) {
		return fmt.Errorf("%q does not begin with a tool name of 1 to 64 letters, digits or punctuation", shorten(name, 70))
	}
	s.tools = append(s.tools, scriptedTool{name: name, args: args})
	return nil
}

// applyRetryAfter sets the header Retry-After.
func applyRetryAfter(s *script, v string) error {
	if v == "" || len(v) > 64 || !isHeaderValue(v) {
		return errors.New("the value must be 1 to 64 printable characters")
	}
	s.retryAfter = v
	return nil
}

// applyHeader adds a response header in the form Name:Value. It refuses headers that frame the body.
func applyHeader(s *script, v string) error {
	name, value, ok := strings.Cut(v, ":")
	value = strings.TrimSpace(value)
	if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenChar(r) }) ||
		!isHeaderValue(value) {
		return fmt.Errorf("%q is not a header as Name:Value", shorten(v, 50))
	}
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Content-Length", "Transfer-Encoding", "Trailer": // the server frames the body
		return fmt.Errorf("the header %s cannot be set", name)
	}
	if s.headers == nil {
		s.headers = make(http.Header)
	}
	s.headers.Add(name, value)
	return nil
}

// isTokenChar reports whether r is allowed in a header name (RFC 9110, section 5.6.2).
func isTokenChar(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// isHeaderValue reports whether s has no control characters except tabs.
func isHeaderValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
