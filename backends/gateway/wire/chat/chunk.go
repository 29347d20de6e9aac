package chat

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// chunk is the content of one body from an upstream, which is an event of a stream or a whole answer. Only the first
// choice is read. All slices are parts of the body. Texts are those between the quotes of a JSON string, still escaped.
type chunk struct {
	data                        []byte
	pieces                      []piece
	reasoningContent, reasoning []byte
	refusal                     []byte
	details                     []byte // the JSON array reasoning_details
	logprobs                    []byte // the JSON array logprobs.content
	signature                   []byte // Gemini's signature of the message
	padding                     []byte // OpenAI's padding, whose length varies between chunks
	calls                       []callPiece
	finish                      finish
	failure                     []byte // the body or choice with an error; nil if there is none
	choice                      bool   // the first choice was found
	usage                       bool   // a usage object was found
}

// piece is a piece of the answer's text, or of its reasoning if thinking is set.
type piece struct {
	text     []byte
	thinking bool
}

// callPiece is one entry of tool_calls.
type callPiece struct {
	index     int
	indexed   bool   // the entry has an index
	id, name  []byte // unescaped
	arguments []byte
	object    bool   // arguments is the JSON text of an object, not the inside of a string
	signature []byte // Gemini's signature
}

// reset empties c for the body data. It keeps the memory of the slices.
func (c *chunk) reset(data []byte) {
	*c = chunk{data: data, pieces: c.pieces[:0], calls: c.calls[:0]}
}

// scan parses c.data and stores the content of the first choice in c. member is the name of the field of a choice
// that holds the content: "delta" in a stream, "message" in a whole answer. If the body states token counts or a
// service tier, scan stores them in usage. For an error object scan sets c.failure and returns nil. An error that
// scan returns wraps wire.ErrBroken. It means that the body is not a JSON object, or that the JSON is invalid.
func (c *chunk) scan(member string, usage *wire.Usage) error {
	s := jsontext.NewScanner(c.data)
	if s.Kind() != jsontext.Object {
		if wire.ListsError(c.data) {
			c.failure = c.data
			return nil
		}
		return broken("the answer is not a JSON object")
	}
	return wire.ScanAnswer(&s, func(key []byte) (err error) {
		kind := s.Kind()
		switch string(key) {
		case "choices":
			if kind == jsontext.Array {
				return s.Array(func(i int) error { return c.scanChoice(&s, i, member) })
			}
		case "usage":
			c.usage = kind == jsontext.Object
			_, err := wire.ScanUsage(&s, usage)
			return err
		case "service_tier":
			return wire.ScanTerm(&s, &usage.Served, wire.TermTier)
		case "error":
			if kind != jsontext.Null {
				c.failure = c.data
			}
		case "obfuscation":
			c.padding, err = s.Inside()
			return err
		case "object":
			text, err := s.Inside()
			if string(text) == "error" {
				c.failure = c.data
			}
			return err
		}
		return s.Skip()
	})
}

// raw scans a value of any kind and returns its JSON text. The error means that the JSON is invalid.
func (c *chunk) raw(s *jsontext.Scanner) ([]byte, error) {
	start := s.Offset()
	err := s.Skip()
	return c.data[start:s.Offset()], err
}

// scanChoice scans an element of the array "choices". If the choice has the index 0, scanChoice stores its content in
// c. Otherwise c stays as it was. position is the element's position in the array. A choice without the field "index"
// has its position as its index. member is the same as in scan.
func (c *chunk) scanChoice(s *jsontext.Scanner, position int, member string) error {
	if c.choice || s.Kind() != jsontext.Object { // c.choice: the first choice was found before
		return s.Skip()
	}
	previous := *c // to restore c if the index shows that this is not the first choice
	start, index, failed := s.Offset(), position, false
	err := s.Object(func(key []byte) error {
		kind := s.Kind()
		switch string(key) {
		case "index":
			n, ok, err := number(s, kind)
			if ok {
				index = n
			}
			return err
		case member:
			if kind == jsontext.Object {
				return c.scanContent(s)
			}
		case "finish_reason":
			reason, err := s.Inside()
			c.finish.reason = jsontext.Known(reason, wire.FinishReasons...)
			return err
		case "matched_stop", "stop_reason":
			sequence, err := s.Inside()
			if n := len(sequence); n > 0 && n <= maxStop {
				c.finish.sequence = string(jsontext.AppendUnquoted(nil, sequence))
			}
			return err
		case "logprobs":
			if kind == jsontext.Object {
				return c.scanLogprobs(s)
			}
		case "error":
			failed = kind != jsontext.Null
		}
		return s.Skip()
	})
	if err != nil {
		return err
	}
	if index != 0 {
		*c = previous
		return nil
	}
	c.choice = true
	if failed {
		c.failure = c.data[start:s.Offset()]
	}
	return nil
}

// scanLogprobs scans the value of a choice's field "logprobs", which is an object. It stores the array in the
// object's field "content" in c.logprobs.
func (c *chunk) scanLogprobs(s *jsontext.Scanner) error {
	return s.Object(func(key []byte) (err error) {
		if string(key) == "content" && s.Kind() == jsontext.Array {
			c.logprobs, err = c.raw(s)
			return err
		}
		return s.Skip()
	})
}

// scanContent scans the delta or message of a choice and stores its content in c.
func (c *chunk) scanContent(s *jsontext.Scanner) error {
	return s.Object(func(key []byte) (err error) {
		kind := s.Kind()
		switch string(key) {
		case "content":
			if kind == jsontext.Array {
				return c.scanParts(s, false)
			}
			text, err := s.Inside()
			if len(text) > 0 {
				c.pieces = append(c.pieces, piece{text: text})
			}
			return err
		case "reasoning_content":
			c.reasoningContent, err = s.Inside()
			return err
		case "reasoning":
			c.reasoning, err = s.Inside()
			return err
		case "refusal":
			c.refusal, err = s.Inside()
			return err
		case "reasoning_details":
			if kind == jsontext.Array {
				c.details, err = c.raw(s)
				return err
			}
		case "extra_content":
			c.signature, err = scanSignature(s)
			return err
		case "tool_calls":
			if kind == jsontext.Array {
				return s.Array(func(int) error { return c.scanCall(s) })
			}
		case "function_call": // the older form of tool_calls
			if kind == jsontext.Object {
				p := callPiece{index: -1, indexed: true} // a fixed index, so that later pieces continue the call
				err = c.scanFunction(s, &p)
				c.calls = append(c.calls, p)
				return err
			}
		}
		return s.Skip()
	})
}

// scanParts scans a list of content parts, which are strings, {"type":"text","text":…}, refusals, and Mistral's
// {"type":"thinking","thinking":…} with a string or a list of parts as its value. It appends the texts to c.pieces.
// thinking is set if the list is the value of a thinking part. The texts in such a list are reasoning.
func (c *chunk) scanParts(s *jsontext.Scanner, thinking bool) error {
	return s.Array(func(int) error {
		kind := s.Kind()
		if kind == jsontext.String {
			return c.scanPiece(s, thinking)
		}
		if kind != jsontext.Object {
			return s.Skip()
		}
		return s.Object(func(key []byte) error {
			kind := s.Kind()
			switch {
			case kind == jsontext.Array && string(key) == "thinking" && !thinking: // at most one level deep
				return c.scanParts(s, true)
			case kind == jsontext.String && string(key) == "thinking":
				return c.scanPiece(s, true)
			case kind == jsontext.String && string(key) == "text":
				return c.scanPiece(s, thinking)
			case kind == jsontext.String && string(key) == "refusal":
				text, _, err := s.Text()
				c.refusal = text
				return err
			}
			return s.Skip()
		})
	})
}

// scanPiece scans a string and appends it to c.pieces, unless it is empty. thinking is set for reasoning.
func (c *chunk) scanPiece(s *jsontext.Scanner, thinking bool) error {
	text, _, err := s.Text()
	if len(text) > 0 {
		c.pieces = append(c.pieces, piece{text, thinking})
	}
	return err
}

// scanCall scans an entry of tool_calls and appends it to c.calls. Empty objects are skipped.
func (c *chunk) scanCall(s *jsontext.Scanner) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	var p callPiece
	empty := true
	err := s.Object(func(key []byte) (err error) {
		empty = false
		kind := s.Kind()
		switch string(key) {
		case "index":
			p.index, p.indexed, err = number(s, kind)
			return err
		case "id":
			p.id, err = word(s)
			return err
		case "function":
			if kind == jsontext.Object {
				return c.scanFunction(s, &p)
			}
		case "extra_content":
			p.signature, err = scanSignature(s)
			return err
		}
		return s.Skip()
	})
	if !empty {
		c.calls = append(c.calls, p)
	}
	return err
}

// scanFunction scans the object in the field "function" of an entry of tool_calls and stores its name and arguments
// in p.
func (c *chunk) scanFunction(s *jsontext.Scanner, p *callPiece) error {
	return s.Object(func(key []byte) (err error) {
		kind := s.Kind()
		switch string(key) {
		case "name":
			p.name, err = word(s)
			return err
		case "arguments":
			p.object = kind == jsontext.Object
			if p.object {
				p.arguments, err = c.raw(s)
			} else {
				p.arguments, err = s.Inside()
			}
			return err
		}
		return s.Skip()
	})
}

// scanSignature scans the value of extra_content. It returns the text of google.thought_signature, still escaped, or
// nil if there is no such field.
func scanSignature(s *jsontext.Scanner) (signature []byte, err error) {
	if s.Kind() != jsontext.Object {
		return nil, s.Skip()
	}
	err = s.Object(func(key []byte) error {
		if string(key) != "google" || s.Kind() != jsontext.Object {
			return s.Skip()
		}
		return s.Object(func(key []byte) (err error) {
			if string(key) != "thought_signature" {
				return s.Skip()
			}
			signature, err = s.Inside()
			return err
		})
	})
	return signature, err
}

// word scans a value. If the value is a string, word returns its text without escapes. For a value of another kind it
// returns nil.
func word(s *jsontext.Scanner) ([]byte, error) {
	if s.Kind() != jsontext.String {
		return nil, s.Skip()
	}
	return s.Word()
}

// number scans the value of the field "index". ok is set if the value is a whole number that is not negative. Any
// other value is skipped without an error. kind is the kind of the value.
func number(s *jsontext.Scanner, kind jsontext.Kind) (index int, ok bool, err error) {
	if kind != jsontext.Number {
		return 0, false, s.Skip()
	}
	n, ok, err := s.Int()
	return int(n), ok && n >= 0, err
}
