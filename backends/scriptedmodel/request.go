package scriptedmodel

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	maxBody       = 64 << 20 // bytes of a request body
	maxDepth      = 512      // of nested arrays and objects in it
	maxModel      = 1 << 20  // bytes of a model name with its script
	maxName       = 256      // bytes of a model name without it
	maxKeptBuffer = 1 << 20  // buffers above this are left to the garbage collector
)

// request is the part of a request for a chat completion or for embeddings that the server uses.
type request struct {
	body         string
	sum          [sha256.Size]byte // hash of body
	model        string            // with its script
	stream       bool
	includeUsage bool   // stream_options.include_usage
	lastUser     string // text of the last user message, with its script
	promptBytes  int    // length of the text of all messages, or of all texts

	// The following members belong to a request for embeddings.
	texts      []string // nil for other requests
	dimensions int
	base64     bool
}

// bodies is a pool of buffers for request bodies.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readBody reads the body within maxBody and the server's BodyTimeout, and returns it with its hash.
func (c *call) readBody() (body string, sum [sha256.Size]byte, err error) {
	if c.r.ContentLength > maxBody {
		return "", sum, tooLarge()
	}
	if d := c.srv.bodyTimeout; d > 0 {
		// The deadline is removed at the end, because the answer may take longer. An error means that the writer
		// supports no deadlines. The limits of its server apply then.
		rc := http.NewResponseController(c.w)
		if rc.SetReadDeadline(time.Now().Add(d)) == nil {
			defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
		}
	}
	buf, _ := bodies.Get().(*bytes.Buffer)
	buf.Reset()
	defer func() {
		if buf.Cap() <= maxKeptBuffer {
			bodies.Put(buf)
		}
	}()
	_, err = buf.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	c.srv.log.setBody(c.rec, buf.Bytes())
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return "", sum, tooLarge()
		}
		e := badRequest("invalid_body", "", "the request body could not be read to its end")
		e.Cause = err
		return "", sum, e
	}
	return buf.String(), sha256.Sum256(buf.Bytes()), nil
}

// tooLarge returns the error for a body that is larger than maxBody.
func tooLarge() error {
	return apierror.New(http.StatusRequestEntityTooLarge, "request_too_large", "the request body is larger than %d bytes",
		maxBody)
}

// parseRequest parses the body of a request for a chat completion. It ignores unknown members.
func parseRequest(body string) (*request, error) {
	if !depthWithin(body, maxDepth) {
		return nil, badRequest("invalid_json", "", "the request body is nested more than %d levels deep", maxDepth)
	}
	if !gjson.Valid(body) {
		return nil, badRequest("invalid_json", "", "the request body is not valid JSON")
	}
	root := gjson.Parse(body)
	if !root.IsObject() {
		return nil, badRequest("invalid_json", "", "the request body is not a JSON object")
	}
	q := &request{body: body}
	var messages gjson.Result
	var err *apierror.Error
	root.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "model":
			if v.Type != gjson.String {
				err = badRequest("invalid_value", "model", "model is not a string")
			}
			q.model = v.Str
		case "messages":
			messages = v
		case "stream":
			if !v.IsBool() && v.Type != gjson.Null {
				err = badRequest("invalid_value", "stream", "stream is neither true nor false")
			}
			q.stream = v.Bool()
		case "stream_options":
			q.includeUsage = v.Get("include_usage").Bool()
		case "n":
			if v.Type != gjson.Null && v.Num != 1 {
				err = badRequest("unsupported_value", "n", "the scripted model gives one choice, n must be 1")
			}
		}
		return err == nil
	})
	switch {
	case err != nil:
		return nil, err
	case q.model == "":
		return nil, badRequest("missing_required_parameter", "model", "model is missing, for example %q", modelScripted)
	case len(q.model) > maxModel:
		return nil, badRequest("invalid_value", "model", "model is longer than %d bytes", maxModel)
	case !messages.IsArray():
		return nil, badRequest("missing_required_parameter", "messages", "messages is not an array")
	}
	q.readMessages(messages)
	return q, nil
}

// readMessages sets q.promptBytes and q.lastUser.
func (q *request) readMessages(messages gjson.Result) {
	var last gjson.Result
	messages.ForEach(func(_, m gjson.Result) bool {
		isUser := false
		var content gjson.Result
		m.ForEach(func(key, v gjson.Result) bool {
			switch key.Str {
			case "role":
				isUser = v.Str == "user"
			case "content":
				content = v
				eachText(v, func(text string) { q.promptBytes += len(text) })
			}
			return true
		})
		if isUser {
			last = content
		}
		return true
	})
	var texts []string
	eachText(last, func(text string) { texts = append(texts, text) })
	q.lastUser = strings.Join(texts, "\n")
}

// eachText calls f with the text of a message content: a string, or the text
// parts of an array.
func eachText(content gjson.Result, f func(string)) {
	if content.Type == gjson.String {
		f(content.Str)
		return
	}
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, part gjson.Result) bool {
		if text := part.Get("text"); text.Type == gjson.String && part.Get("type").Str == "text" {
			f(text.Str)
		}
		return true
	})
}

// depthWithin reports whether arrays and objects in the JSON text s are nested at most limit deep. It must be called
// before the JSON parser, which is recursive.
func depthWithin(s string, limit int) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			if depth++; depth > limit {
				return false
			}
		case '}', ']':
			depth--
		case '"': // brackets in a string do not count
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++ // an escaped quotation mark does not end the string
				}
			}
		}
	}
	return true
}
