package wire

import (
	"bytes"
	"slices"
	"strconv"
)

// choiceTools are the tool calls of one choice in the order in which they began.
type choiceTools []choiceTool

// choiceTool is what is kept of a tool call.
type choiceTool struct {
	id    string // the upstream's, or the one that was made
	index int
	named bool
	made  bool // the upstream began the call without an id
}

// toolEntry is one entry of tool_calls.
type toolEntry struct {
	id, name []byte
	// idAt and nameAt are the places of the values, empty where there are none; index
	// is that of a value that is no index.
	idAt, nameAt, indexAt span
	index                 int
	indexed               bool
	members               int
}

func (f *chatForm) scanTool(s *Scanner, choice, position int, got *seen) error {
	if s.Kind() != Object {
		return s.Skip()
	}
	open := s.Offset() + 1
	insertAt := len(f.edits)
	f.edits.Replace(open, open, "")
	var e toolEntry
	if err := f.scanEntry(s, &e); err != nil || e.members == 0 {
		return err
	}
	got.proof = got.proof || len(e.name) > 0
	tool, n, begins := f.tool(choice, position, &e)
	missing := ""
	switch {
	case f.delta != "delta" || e.indexed:
	case e.indexAt.empty():
		missing = `"index":` + strconv.Itoa(n) + `,`
	default:
		f.insertSorted(e.indexAt.from, e.indexAt.to, strconv.Itoa(n))
	}
	switch {
	case tool == nil:
	case begins && tool.made && e.idAt.empty():
		missing += `"id":"` + tool.id + `",`
	case begins && tool.made:
		f.insertSorted(e.idAt.from, e.idAt.to, `"`+tool.id+`"`)
	case begins || e.idAt.empty() || !tool.made && len(e.id) > 0:
	case e.members == 1: // an index may be put before it
		f.insertSorted(e.idAt.from, e.idAt.to, "null")
	default:
		f.removeMember(s.b, e.idAt)
	}
	if tool != nil && !begins && !e.nameAt.empty() && len(e.name) == 0 {
		f.removeMember(s.b, e.nameAt)
	}
	f.edits[insertAt].Text = missing
	return nil
}

// scanEntry passes an entry of tool_calls.
func (f *chatForm) scanEntry(s *Scanner, e *toolEntry) error {
	return s.Object(func(key []byte) (err error) {
		e.members++
		kind := s.Kind()
		from := s.Offset()
		switch {
		case string(key) == "index":
			e.index, e.indexed, err = s.index(kind)
			e.indexAt = span{from, s.Offset()}
		case string(key) == "id" && kind == String:
			e.id, _, err = s.Text()
			e.idAt = span{from, s.Offset()}
		case string(key) == "id":
			err = s.Skip()
			e.idAt = span{from, s.Offset()}
		case string(key) == "function" && kind == Object:
			err = s.Object(func(key []byte) error {
				if s.Kind() != String {
					return s.Skip()
				}
				from := s.Offset()
				raw, _, err := s.Text()
				f.TextBytes += int64(len(raw))
				if string(key) == "name" {
					e.name, e.nameAt = raw, span{from, s.Offset()}
				}
				return err
			})
		default:
			err = s.Skip()
		}
		return err
	})
}

// tool finds the call that an entry belongs to, or begins it; n is its number in the
// choice. nil: it is one of more than are kept.
func (f *chatForm) tool(choice, position int, e *toolEntry) (tool *choiceTool, n int, begins bool) {
	if choice >= maxChoices {
		return nil, position, false
	}
	for len(f.tools) <= choice {
		f.tools = append(f.tools, nil)
	}
	tools := &f.tools[choice]
	e.id = e.id[:min(len(e.id), maxID)]
	if n := f.known(*tools, e); n >= 0 {
		tool = &(*tools)[n]
		tool.named = tool.named || len(e.name) > 0
		return tool, n, false
	}
	if n = len(*tools); n == maxTools {
		return nil, n - 1, false
	}
	begun := choiceTool{id: string(e.id), index: n, named: len(e.name) > 0}
	if e.indexed {
		begun.index = e.index
	}
	if begun.id == "" {
		begun.id, begun.made = NewID("call_"), true
	}
	*tools = append(*tools, begun)
	return &(*tools)[n], n, true
}

// known is the number of the call that an entry goes on with, or -1. Without an index
// calls are told apart by their ids; what has no id either continues the last call,
// unless it brings the name of another.
func (f *chatForm) known(tools choiceTools, e *toolEntry) int {
	last := len(tools) - 1
	switch {
	case f.delta != "delta":
		return -1
	case e.indexed:
		return slices.IndexFunc(tools, func(t choiceTool) bool { return t.index == e.index })
	case len(e.id) > 0:
		n := slices.IndexFunc(tools, func(t choiceTool) bool { return t.id == string(e.id) })
		if n < 0 && last >= 0 && tools[last].made && len(e.name) == 0 { // its id comes late
			return last
		}
		return n
	case last >= 0 && (len(e.name) == 0 || !tools[last].named):
		return last
	}
	return -1
}

// removeMember takes a member of an object out, with one comma; value is the place of
// its value.
func (f *chatForm) removeMember(body []byte, value span) {
	const space = " \t\r\n"
	from, to := KeyAt(body, value.from), value.to
	rest := bytes.TrimLeft(body[to:], space)
	if len(rest) > 0 && rest[0] == ',' {
		to = len(body) - len(bytes.TrimLeft(rest[1:], space))
	} else if before := bytes.TrimRight(body[:from], space); before[len(before)-1] == ',' {
		from = len(before) - 1
	}
	f.insertSorted(from, to, "")
}
