package wire

import (
	"bytes"
	"errors"
)

// ErrNoChoices is the error of an answer with status 200 that is empty: no choice has content, a tool call or a
// finish_reason.
var ErrNoChoices = errors.New("the answer has no choices")

// ErrBroken is in the chain of every error which means that the upstream sent something other than JSON of the expected
// form.
var ErrBroken = errors.New("the upstream sent a broken answer")

// ErrNoFinish is the error of a stream that ended without a finish_reason.
var ErrNoFinish = errors.New("stream ended without a finish reason")

// Progress describes what one event of a stream means.
type Progress struct {
	// Proof reports that the candidate has proved itself (specification 13.2).
	Proof bool
	// Thinks reports that the event shows that the model thinks, which is no proof.
	Thinks bool
	// Done reports that the stream is complete. What follows is not read.
	Done bool
}

// OneLine replaces line ends by spaces, so that an event with several data lines becomes one with a single line. JSON
// has line ends only between tokens.
func OneLine(text []byte) {
	for _, end := range [...]byte{'\n', '\r'} {
		rest := text
		for at := bytes.IndexByte(rest, end); at >= 0; at = bytes.IndexByte(rest, end) {
			rest[at] = ' '
			rest = rest[at+1:]
		}
	}
}

// FinishReasons are the usual finish reasons of a chat completion.
var FinishReasons = []string{"stop", "length", "tool_calls", "content_filter", "error", ""}
