package stored

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

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

// lifecycle reports whether events with this name contain the response object.
func lifecycle(name string) bool {
	switch name {
	case "response.created", "response.queued", "response.in_progress":
		return true
	}
	return ends(name)
}

// ends reports whether an event with this name is the final one.
func ends(name string) bool {
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
	set := make([]bool, len(members))
	last := -1
	err := s.Object(func(key []byte) error {
		index := -1
		for i := range members {
			if string(key) == members[i].name {
				index = i
			}
		}
		from := s.Start()
		err := s.Skip()
		if last = s.Offset(); err == nil && index >= 0 {
			edits.Replace(from, last, members[index].value)
			set[index] = true
		}
		return err
	})
	if err != nil {
		return object
	}
	before := ","
	if last < 0 { // it was empty
		last, before = bytes.IndexByte(object, '{')+1, ""
	}
	for i := range members {
		if !set[i] {
			edits.Replace(last, last, before+`"`+members[i].name+`":`+members[i].value)
			before = ","
		}
	}
	return edits.Apply(make([]byte, 0, len(object)+512), object)
}

// replaceAt returns text with the value found in it replaced.
func replaceAt(text []byte, found gjson.Result, value []byte) []byte {
	out := make([]byte, 0, len(text)+len(value))
	out = append(out, text[:found.Index]...)
	out = append(out, value...)
	return append(out, text[found.Index+len(found.Raw):]...)
}

// failure returns the error member of a failed response as JSON.
func failure(code, message string) string {
	text := append([]byte(`{"code":`), jsontext.AppendQuoted(nil, code)...)
	text = append(text, `,"message":`...)
	return string(append(jsontext.AppendQuoted(text, message), '}'))
}
