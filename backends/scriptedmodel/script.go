package scriptedmodel

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// maxText limits the length of the text with its repetitions, in bytes.
const maxText = 16 << 20

// linePrefix is the beginning of a line in a user message that is a script.
const linePrefix = modelScripted + "?"

// fault is a set of faults.
type fault uint32

// The faults; the package comment describes them.
const (
	faultHang fault = 1 << iota
	faultStall
	faultDrop
	faultDropMid
	faultHTML
	faultEmptyChoices
	faultErrorObject
	faultErrorMid
	faultNoFinish
	faultNoDone
	faultBrokenJSON
	faultComments
	faultNullUsage
	faultDoneTwice
	faultHugeEvent
	faultSlowHeaders
)

// faultNames holds the faults by the names that scripts use.
var faultNames = map[string]fault{
	"hang":          faultHang,
	"stall":         faultStall,
	"drop":          faultDrop,
	"drop_mid":      faultDropMid,
	"html":          faultHTML,
	"empty_choices": faultEmptyChoices,
	"error_object":  faultErrorObject,
	"error_mid":     faultErrorMid,
	"no_finish":     faultNoFinish,
	"no_done":       faultNoDone,
	"broken_json":   faultBrokenJSON,
	"comments":      faultComments,
	"null_usage":    faultNullUsage,
	"done_twice":    faultDoneTwice,
	"huge_event":    faultHugeEvent,
	"slow_headers":  faultSlowHeaders,
}

// has reports whether f contains any of the given faults.
func (f fault) has(faults fault) bool { return f&faults != 0 }

// usageMode defines where usage is sent.
type usageMode uint8

const (
	usageAsked  usageMode = iota // last, if stream_options requests it
	usageOff                     // never
	usageFinish                  // with the finish_reason
	usageLast                    // in a chunk of its own
)

// echoMode defines which part of the request becomes the text.
type echoMode uint8

const (
	echoNone echoMode = iota
	echoHeaders
	echoBody
)

// unset marks a number that the script does not set, if 0 is a valid value.
const unset = -1

// scriptedTool is one tool call of the answer.
type scriptedTool struct{ name, args string }

// script is a parsed script; see the package comment for the keys. Requests share it, so it is read-only after
// parsing.
type script struct {
	text         string
	hasText      bool
	repeat       int
	reasoning    string
	hasReasoning bool
	tools        []scriptedTool
	finish       string

	words, chunks, chunkBytes     int // 0 if not given
	delay, firstDelay, chunkDelay time.Duration
	flush                         bool

	status                    int // 0 if not given
	code, message, retryAfter string
	headers                   http.Header
	body                      string
	hasBody                   bool

	usage                                        usageMode
	promptTokens, completionTokens, cachedTokens int // unset means the actual count

	echo      echoMode
	faults    fault
	after     int // unset means the default of the fault
	bytes     int // size of the event of the fault huge_event
	failTimes int // 0 if not given
	failKey   string
}

// newScript returns the script of a request that has none.
func newScript() *script {
	return &script{
		repeat: 1, flush: true, bytes: 1 << 20, after: unset,
		promptTokens: unset, completionTokens: unset, cachedTokens: unset,
	}
}

// parseScript parses a script. modelQuery is the query after the model name, and lineQuery is the query in a line of
// a message; either may be empty. Keys of modelQuery take precedence.
func parseScript(modelQuery, lineQuery string) (*script, *apierror.Error) {
	values, err := url.ParseQuery(modelQuery)
	if err != nil {
		return nil, scriptError("model", "the script after the model name is not a URL query")
	}
	if lineQuery != "" {
		lineValues, err := url.ParseQuery(lineQuery)
		if err != nil {
			return nil, scriptError("messages", "the line that begins with %s is not a URL query", linePrefix)
		}
		for key, v := range lineValues {
			if _, ok := values[key]; !ok {
				values[key] = v
			}
		}
	}
	s := newScript()
	for _, key := range slices.Sorted(maps.Keys(values)) { // sorted, so that the same error is always reported
		list := values[key]
		set, ok := keys[key]
		if !ok {
			return nil, scriptError("model", "the script has an unknown key %q", shorten(key, 50))
		}
		if limit := max(set.maxCount, 1); len(list) > limit {
			return nil, scriptError("model", "the script has %s %d times, at most %d are allowed", key, len(list), limit)
		}
		for _, v := range list {
			if err := set.apply(s, v); err != nil {
				return nil, scriptError("model", "script key %s: %v", key, err)
			}
		}
	}
	return s, s.check()
}

// check returns an error for keys that must not be combined.
func (s *script) check() *apierror.Error {
	chunkKeys := 0
	for _, n := range []int{s.words, s.chunks, s.chunkBytes} {
		if n > 0 {
			chunkKeys++
		}
	}
	switch {
	case chunkKeys > 1:
		return scriptError("model", "the script may have only one of words, chunks and chunk_bytes")
	case s.echo != echoNone && s.hasText:
		return scriptError("model", "the script may have only one of text and echo")
	case s.failTimes > 0 && s.failKey == "":
		return scriptError("model", "the script has fail_times but no fail_key")
	case s.repeat > 1 && len(s.text)*s.repeat > maxText:
		return errTextTooLong()
	}
	return nil
}

// errTextTooLong returns the error for a text that is longer than maxText.
func errTextTooLong() *apierror.Error {
	return scriptError("model", "the repeated text is longer than %d bytes", maxText)
}

// scriptError returns the error for an invalid script. param is the member of the request that contains the script.
func scriptError(param, format string, args ...any) *apierror.Error {
	return badRequest("invalid_script", param, format, args...)
}

// withoutFailure returns a copy of the script without a status and faults.
func (s *script) withoutFailure() *script {
	changed := *s
	changed.status, changed.faults = 0, 0
	return &changed
}

// withFailure returns the script if it has a status or a fault, and otherwise a copy with the status 503.
func (s *script) withFailure() *script {
	if s.status != 0 || s.faults != 0 {
		return s
	}
	changed := *s
	changed.status = http.StatusServiceUnavailable
	return &changed
}

// afterChunks returns the number of chunks after which the faults in the middle of a stream occur.
func (s *script) afterChunks() int {
	if s.after != unset {
		return s.after
	}
	if s.faults.has(faultStall) {
		return 0
	}
	return 1
}

// cutScript removes the first line that is a script from a user's text, and returns its query and the remaining text.
// The query is empty if there is no such line.
func cutScript(text string) (query, remaining string) {
	if !strings.Contains(text, linePrefix) {
		return "", text
	}
	start := 0 // of the line in text
	for line := range strings.Lines(text) {
		end := start + len(line)
		if q, ok := strings.CutPrefix(strings.TrimSpace(line), linePrefix); ok {
			return q, text[:start] + text[end:]
		}
		start = end
	}
	return "", text
}
