package native

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// messages scans the field messages and stores the facts about the messages in r.
func (r *Request) messages(s *jsontext.Scanner, kind jsontext.Kind) error {
	if kind != jsontext.Array {
		return wrongKind(s, "messages", "an array", kind)
	}
	role, previousRole := "", "" // previousRole is that of the last message other than system and developer
	err := s.Array(func(i int) error {
		r.Messages++
		var err error
		role, err = r.message(s, i)
		switch role {
		case "system", "developer":
			if previousRole != "" {
				r.Traits |= TraitLateSystem
			}
		default:
			isFirst := previousRole == ""
			if role == previousRole && role != "tool" || isFirst && role != "user" {
				r.Traits |= TraitRepeats
			}
			previousRole = role
		}
		return err
	})
	r.calls.end(r)
	if err != nil {
		return err
	}
	if r.Messages == 0 {
		return wire.InvalidField("messages", "messages must have at least one message")
	}
	if role == "assistant" {
		r.Needs |= wire.NeedPrefill
	}
	return nil
}

// message scans message i and returns its role.
func (r *Request) message(s *jsontext.Scanner, i int) (role string, err error) {
	// A function, so that only an error pays for the text.
	path := func(member string) string { return fmt.Sprintf("messages[%d]%s", i, member) }
	if k := s.Kind(); k != jsontext.Object {
		return "", wrongKind(s, path(""), "an object", k)
	}
	var sawRole, sawContent bool
	var callID []byte // tool_call_id
	r.calls.next = r.calls.next[:0]
	err = s.Object(func(key []byte) error {
		kind := s.Kind()
		switch string(key) {
		case "role":
			if sawRole {
				return wire.InvalidField(path(".role"), "the field %q is given twice", path(".role"))
			}
			sawRole = true
			if kind != jsontext.String {
				return wrongKind(s, path(".role"), "a string", kind)
			}
			var known bool
			var err error
			role, known, err = r.role(s)
			if err == nil && !known {
				err = wire.InvalidField(path(".role"), "%s must be one of system, developer, user, assistant, tool, function",
					path(".role"))
			}
			return err
		case "content":
			if sawContent {
				return wire.InvalidField(path(".content"), "the field %q is given twice", path(".content"))
			}
			sawContent = true
			switch kind {
			case jsontext.String, jsontext.Null:
				return r.count(s)
			case jsontext.Array:
				return s.Array(func(j int) error { return r.part(s, i, j) })
			default:
				return wrongKind(s, path(".content"), "a string or an array", kind)
			}
		case "tool_calls":
			if kind != jsontext.Array && kind != jsontext.Null {
				return wrongKind(s, path(".tool_calls"), "an array", kind)
			}
			if kind == jsontext.Array {
				r.Traits |= TraitCalls
				return r.calls.read(s)
			}
			return s.Skip()
		case "tool_call_id":
			raw, err := s.Inside()
			callID = raw
			return err
		default:
			return s.Skip()
		}
	})
	r.calls.addMessage(r, role, callID)
	if err == nil && !sawRole {
		err = wire.MissingField(path(".role"))
	}
	return role, err
}

// role scans the role of a message. known reports whether the role is one of the valid roles (the variable roles).
// The positions of the role "developer" are stored, since Shape may have to replace it.
func (r *Request) role(s *jsontext.Scanner) (role string, known bool, err error) {
	start := s.Offset()
	raw, err := s.Word()
	if err != nil {
		return "", false, err
	}
	if role = jsontext.Known(raw, roles...); role == "developer" {
		r.developers = append(r.developers, span{start, s.Offset()})
	}
	return role, slices.Contains(roles, role), nil
}

// roles are the roles of messages.
var roles = []string{"user", "assistant", "system", "tool", "developer", "function"}

// part scans content part j of message i and stores its facts in r. A plain string is accepted as a text part, as some
// upstreams do.
func (r *Request) part(s *jsontext.Scanner, i, j int) error {
	switch k := s.Kind(); k {
	case jsontext.String:
		return r.count(s)
	case jsontext.Object:
	default:
		return wrongKind(s, fmt.Sprintf("messages[%d].content[%d]", i, j), "an object", k)
	}
	var m medium
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "text":
			return r.count(s)
		case "image_url":
			return r.image(s, &m)
		case "file":
			start := s.Offset()
			err := s.Skip()
			m.file = s.Offset() - start
			return err
		}
		if string(key) != "type" || s.Kind() != jsontext.String {
			return s.Skip()
		}
		raw, err := s.Word()
		switch string(raw) {
		case "image_url":
			m.kind = wire.NeedImage
		case "file":
			m.kind = wire.NeedFile
		case "input_audio":
			m.kind = wire.NeedAudio
		}
		return err
	})
	r.medium(&m)
	return err
}

// medium describes a content part that is an image, a file or audio.
type medium struct {
	kind    wire.Needs // 0 if the part is text
	url     []byte     // URL of an image, as in the JSON string
	escaped bool       // url has escapes
	file    int        // size of a file part in bytes
}

// maxImages is the number of images in a request whose width and height are read. Each further image counts with a
// fixed number of tokens.
const maxImages = 256

// medium records the content part m. It adds the kind of m to r.Needs, and the estimated tokens of m to
// r.MediaTokens. A text part changes nothing.
func (r *Request) medium(m *medium) {
	r.Needs |= m.kind
	switch m.kind {
	case wire.NeedImage:
		url := m.url[:min(len(m.url), wire.HeadOfImage)]
		r.images++
		if r.images > maxImages {
			url = nil
		}
		if m.escaped { // the slash is the only character of base64 that is escaped
			url = bytes.ReplaceAll(url, []byte(`\/`), []byte(`/`))
		}
		r.MediaTokens += wire.ImageTokens(url)
	case wire.NeedFile:
		r.MediaTokens += wire.FileTokens(m.file)
	case wire.NeedAudio:
		r.MediaTokens += wire.AudioTokens
	case wire.NeedTools, wire.NeedJSONSchema, wire.NeedPrefill, wire.NeedChoices, wire.NeedOwnFormat: // no media
	}
}

// image scans the value of the field image_url and stores the URL in m. The value is {"url":…} or the URL itself.
func (r *Request) image(s *jsontext.Scanner, m *medium) error {
	if s.Kind() == jsontext.Object {
		return s.Object(func(key []byte) error {
			if string(key) == "url" {
				return r.image(s, m)
			}
			return s.Skip()
		})
	}
	if s.Kind() != jsontext.String {
		return s.Skip()
	}
	raw, escaped, err := s.Text()
	if !bytes.HasPrefix(raw, []byte("data:")) {
		r.Traits |= TraitRemoteImage
	}
	m.url, m.escaped = raw, escaped
	return err
}

// count scans a value that belongs to the text of the prompt, and adds its length in the JSON to r.TextBytes.
func (r *Request) count(s *jsontext.Scanner) error {
	start := s.Offset()
	err := s.Skip()
	r.TextBytes += int64(s.Offset() - start)
	return err
}
