package wire

import (
	"bytes"
	"errors"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ErrNoChoices is the error of an answer with status 200 that is empty: no choice has content, a tool call or a
// finish_reason.
var ErrNoChoices = errors.New("the answer has no choices")

// ErrBroken is wrapped by every error which means that the upstream sent something other than JSON of the expected
// form.
var ErrBroken = errors.New("the upstream sent a broken answer")

// ErrNoFinish is the error of a stream that ended without a finish_reason.
var ErrNoFinish = errors.New("stream ended without a finish reason")

// Progress describes how far a stream has come after one of its events.
type Progress struct {
	// Proof is set if the event has content for the client, so that the candidate has proved itself.
	Proof bool
	// Thinks is set if the event shows that the model is thinking. This is not a proof.
	Thinks bool
	// Done is set if the stream is complete. Later events are not read.
	Done bool
}

// KeepAlive is a comment line of server-sent events. Clients ignore it.
const KeepAlive = ": keep-alive\n\n"

// doneMark is the data of the event that ends a stream of chat completions. Some upstreams send it in other formats
// too.
var doneMark = []byte("[DONE]")

// EventData returns the data of an event without the white space around it. done is set for the end mark of chat
// completions.
func EventData(data []byte) (trimmed []byte, done bool) {
	trimmed = bytes.TrimSpace(data)
	return trimmed, bytes.Equal(trimmed, doneMark)
}

// ScanAnswer scans an upstream's JSON text, which must be one object. s is at the start of the text. member is called
// for each field and must scan the field's value. The errors wrap ErrBroken.
func ScanAnswer(s *jsontext.Scanner, member func(key []byte) error) error {
	if s.Kind() != jsontext.Object {
		return ErrBroken
	}
	err := s.Object(member)
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return errors.Join(ErrBroken, err)
	}
	return nil
}

// OneLine replaces line ends in a JSON text by spaces, so that the text fits into one data line of a server-sent event.
// JSON has line ends only between tokens. The text is changed in place.
func OneLine(text []byte) {
	for _, end := range [...]byte{'\n', '\r'} {
		unread := text
		for index := bytes.IndexByte(unread, end); index >= 0; index = bytes.IndexByte(unread, end) {
			unread[index] = ' '
			unread = unread[index+1:]
		}
	}
}

// AppendLine appends a JSON text without line ends, see OneLine.
func AppendLine[T string | []byte](dst []byte, text T) []byte {
	start := len(dst)
	dst = append(dst, text...)
	OneLine(dst[start:])
	return dst
}

// FinishReasons are the usual finish reasons of a chat completion.
var FinishReasons = []string{"stop", "length", "tool_calls", "content_filter", "error", ""}
