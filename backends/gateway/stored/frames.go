package stored

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// frameEnd ends an event in a stream of server-sent events. A frame is the text of one event, with its end.
var frameEnd = []byte("\n\n")

// indexFrame returns the length of the first event in a text, or 0 if that event is incomplete.
func indexFrame(text []byte) int {
	end := bytes.Index(text, frameEnd)
	if end < 0 {
		return 0
	}
	return end + len(frameEnd)
}

// parseFrame returns the name and the data of an event. data is nil for a comment.
func parseFrame(frame []byte) (name string, data []byte) {
	for line := range bytes.Lines(frame) {
		line = bytes.TrimRight(line, "\r\n")
		if text, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			name = string(text)
		} else if text, ok := bytes.CutPrefix(line, []byte("data: ")); ok && data == nil {
			data = text
		}
	}
	return name, data
}

// appendFrame appends an event.
func appendFrame(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, frameEnd...)
}

// hasResponse reports whether events with this name contain the response object.
func hasResponse(name string) bool {
	switch name {
	case "response.created", "response.queued", "response.in_progress":
		return true
	}
	return isFinal(name)
}

// responseIn returns the response object in the data of an event. If the event has no response object, the result is
// not an object.
func responseIn(name string, data []byte) gjson.Result {
	if !hasResponse(name) {
		return gjson.Result{}
	}
	return gjson.GetBytes(data, "response")
}

// isFinal reports whether an event with this name is the final one.
func isFinal(name string) bool {
	switch name {
	case "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

// member is a member of an object. Its value is JSON.
type member struct{ name, value string }

// setMembers returns an object with some members replaced or added. Malformed input is returned unchanged.
func setMembers(object []byte, members []member) []byte {
	var edits jsontext.Edits
	s := jsontext.NewScanner(object)
	if s.Kind() != jsontext.Object {
		return object
	}
	replaced := make([]bool, len(members)) // by index of members
	end := -1                              // the end of the last member of the object
	err := s.Object(func(key []byte) error {
		index := slices.IndexFunc(members, func(m member) bool { return m.name == string(key) })
		start := s.Start()
		err := s.Skip()
		if end = s.Offset(); err == nil && index >= 0 {
			edits.Replace(start, end, members[index].value)
			replaced[index] = true
		}
		return err
	})
	if err != nil {
		return object
	}
	comma := ","
	if end < 0 { // the object has no members
		end, comma = bytes.IndexByte(object, '{')+1, ""
	}
	for i := range members {
		if !replaced[i] {
			edits.Replace(end, end, comma+`"`+members[i].name+`":`+members[i].value)
			comma = ","
		}
	}
	return edits.Apply(make([]byte, 0, len(object)+512), object)
}

// replaceAt returns text with a value replaced that was found in it.
func replaceAt(text []byte, found gjson.Result, value []byte) []byte {
	out := make([]byte, 0, len(text)+len(value))
	out = append(out, text[:found.Index]...)
	out = append(out, value...)
	return append(out, text[found.Index+len(found.Raw):]...)
}

// errorMember returns the value of a failed response's member "error", as JSON.
func errorMember(code, message string) string {
	text := append([]byte(`{"code":`), jsontext.AppendQuoted(nil, code)...)
	text = append(text, `,"message":`...)
	return string(append(jsontext.AppendQuoted(text, message), '}'))
}
