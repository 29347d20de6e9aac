package wire

import (
	"bytes"
	"errors"
)

// ErrNoChoices is the error of an answer of status 200 that holds no answer:
// no choice has content, a tool call or a finish_reason.
var ErrNoChoices = errors.New("the answer has no choices")

// ErrBroken is in the chain of every error that means the upstream sent what
// is no JSON of the expected form.
var ErrBroken = errors.New("the upstream sent a broken answer")

// ErrNoFinish is the error of a stream that ended without a finish_reason.
var ErrNoFinish = errors.New("stream ended without a finish reason")

// Progress tells what one event of a stream meant.
type Progress struct {
	// Proof: the candidate has proved itself (specification 13.2).
	Proof bool
	// Thinks: the model thinks, as the event shows. It is no proof.
	Thinks bool
	// Done: the stream is complete, what follows is not read.
	Done bool
}

// OneLine puts spaces in place of line ends: an event with several data lines
// becomes one with a single line. In JSON line ends stand only between tokens.
func OneLine(text []byte) {
	for _, end := range [...]byte{'\n', '\r'} {
		rest := text
		for at := bytes.IndexByte(rest, end); at >= 0; at = bytes.IndexByte(rest, end) {
			rest[at] = ' '
			rest = rest[at+1:]
		}
	}
}

// FinishReasons are the usual ones of a chat completion.
var FinishReasons = []string{"stop", "length", "tool_calls", "content_filter", "error", ""}
