package native

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// choiceTools are the tool calls of one choice, in the order in which they began.
type choiceTools []choiceTool

// choiceTool is what is stored about a tool call.
type choiceTool struct {
	id          string       // the upstream's id; empty if the call began without one
	replacement string       // replacement for the id; empty if the client gets the upstream's id
	index       int          // the upstream's index
	number      int          // the client's index
	named       bool         // its name has arrived
	typed       bool         // the client has its type
	arguments   wire.Repeats // finds arguments that the upstream repeats
}

// toolEntry is one entry of tool_calls.
type toolEntry struct {
	id, name, arguments []byte
	// idAt and indexAt are the positions of the values of id and index, of any type. nameAt is the position of a name that
	// is a string. argumentsAt is the position of arguments that are a string, an object or null. A position is empty if
	// there is no such value.
	idAt, nameAt, argumentsAt, indexAt span
	index                              int
	function                           int  // offset at which the fields of function begin
	indexed, typed                     bool // the entry has an index, a type
	object                             bool // arguments are an object rather than a string
	oddArguments                       bool // arguments are of a kind that is left unchanged
	hasName                            bool // the name of the call arrived in an earlier entry
	members                            int  // number of fields of the entry
}

// scanTool scans an entry of tool_calls and adds the edits that correct it. choice is the index of the choice, and
// position is the position of the entry in tool_calls. The error means that the JSON is invalid or has too many
// entries.
func (f *corrector) scanTool(s *jsontext.Scanner, choice, position int, facts *bodyFacts) error {
	facts.tools++
	if facts.tools > maxEntries {
		return wire.ErrBroken
	}
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	objectStart := s.Offset() + 1
	editIndex := len(f.edits)
	// Edits are in ascending order, so this one is added before its text is known.
	f.edits.Replace(objectStart, objectStart, "") // for the missing fields
	var e toolEntry
	if err := f.scanEntry(s, &e); err != nil || e.members == 0 {
		return err
	}
	facts.proof = facts.proof || len(e.name) > 0
	tool, number, isNew := f.tool(choice, position, &e)
	missing := f.correctIndex(&e, tool, number) // JSON text of the missing fields
	if tool != nil {
		missing += f.correctID(s.Since(0), &e, tool, isNew)
		tool.typed = tool.typed || e.typed
		if !tool.typed && e.function > 0 { // clients refuse a call without a type
			tool.typed = true
			missing += `"type":"function",`
		}
		if !isNew && !e.nameAt.empty() && (e.hasName || len(e.name) == 0) { // a repeated or empty name
			f.removeMember(s.Since(0), e.nameAt)
		}
	}
	f.scanArguments(&e, tool)
	f.edits[editIndex].Text = missing
	if isNew && f.streams() && len(e.name) > 0 && tool.arguments.Size() == 0 {
		f.newCalls = append(f.newCalls, newCall{choice, tool.number, e.function, e.argumentsAt})
	}
	return nil
}

// correctIndex adds the edit that sets the field "index" of e, an entry of a stream, to number. If e lacks the field,
// correctIndex returns the field as JSON text with a comma after it. tool is the call of the entry, or nil if the
// call is not stored.
func (f *corrector) correctIndex(e *toolEntry, tool *choiceTool, number int) (missing string) {
	switch {
	case !f.streams() || e.indexed && (tool == nil || tool.number == e.index):
	case e.indexAt.empty():
		return `"index":` + strconv.Itoa(number) + `,`
	default:
		f.addEdit(e.indexAt.from, e.indexAt.to, strconv.Itoa(number))
	}
	return ""
}

// correctID adds the edit that corrects the id of the entry e. isNew reports whether e begins its call, tool. If it
// does, e gets the id of tool, and otherwise no id. If the field is missing, correctID returns the field as JSON text
// with a comma after it. body is the JSON up to the position of the scanner.
func (f *corrector) correctID(body []byte, e *toolEntry, tool *choiceTool, isNew bool) (missing string) {
	switch {
	case isNew && tool.replacement != "" && e.idAt.empty():
		return `"id":"` + tool.replacement + `",`
	case isNew && tool.replacement != "":
		f.addEdit(e.idAt.from, e.idAt.to, `"`+tool.replacement+`"`)
	case isNew || e.idAt.empty():
	case e.members == 1: // the only field cannot be removed, since another field may be inserted before it
		f.addEdit(e.idAt.from, e.idAt.to, "null")
	default: // some clients would append a repeated id to the first id
		f.removeMember(body, e.idAt)
	}
	return ""
}

// scanArguments adds the edits that convert the arguments of the entry e to the form that clients accept. This is a
// string that does not repeat earlier arguments of the call. tool is the call of the entry, or nil if the call is not
// stored.
func (f *corrector) scanArguments(e *toolEntry, tool *choiceTool) {
	value, stream := e.argumentsAt, f.streams()
	switch {
	case value.empty():
		if !stream && !e.oddArguments && len(e.name) > 0 { // clients parse the arguments
			f.addEdit(e.function, e.function, `"arguments":"{}",`)
		}
	case e.object:
		text := e.arguments
		if stream && len(bytes.TrimSpace(text[1:len(text)-1])) == 0 {
			text = nil // an empty object counts as no arguments yet
		}
		text = jsontext.AppendEscaped(nil, text)
		if stream && tool != nil {
			text = tool.arguments.Rest(text)
		}
		f.addEdit(value.from, value.to, `"`+string(text)+`"`)
	case !stream && len(e.arguments) == 0:
		f.addEdit(value.from, value.to, `"{}"`)
	case stream && tool != nil:
		if repeated := len(e.arguments) - len(tool.arguments.Rest(e.arguments)); repeated > 0 {
			f.addEdit(value.from+1, value.from+1+repeated, "") // after the opening quote
			f.TextBytes -= int64(repeated)                     // the scan has counted them
		}
	}
}

// emptyCall identifies a call that ended without arguments. choice is the index of its choice, number the index that
// the client knows for the call.
type emptyCall struct{ choice, number int }

// newCall is a call that began in this body and has no arguments yet. choice and number are the same as in emptyCall.
// function is the offset in the body at which the fields of the call's function object begin. arguments is the position
// of the value of arguments, or empty if the field is absent.
type newCall struct {
	choice, number, function int
	arguments                span
}

// completeCalls gives the arguments "{}" to those calls of a choice that have none. If a call began in the body that
// was scanned, the arguments are added to this body. Otherwise they are sent in a separate chunk, see
// appendEmptyCalls. The caller has read the finish_reason of the choice. completeCalls does nothing for a whole
// answer.
func (f *corrector) completeCalls(choice int) {
	if choice >= len(f.tools) || !f.streams() || f.finished.has(choice) {
		return
	}
	for i := range f.tools[choice] {
		t := &f.tools[choice][i]
		if !t.named || t.arguments.Size() > 0 {
			continue
		}
		index := slices.IndexFunc(f.newCalls, func(c newCall) bool { return c.choice == choice && c.number == t.number })
		switch {
		case index < 0:
			f.emptyCalls = append(f.emptyCalls, emptyCall{choice, t.number})
		case f.newCalls[index].arguments.empty():
			f.addEdit(f.newCalls[index].function, f.newCalls[index].function, `"arguments":"{}",`)
		default:
			f.replaceValue(f.newCalls[index].arguments, `"{}"`)
		}
	}
}

// appendEmptyCalls appends a chunk with the arguments "{}" for each call that began in an earlier body and ended
// without arguments.
func (f *corrector) appendEmptyCalls(dst []byte) []byte {
	for _, c := range f.emptyCalls {
		dst = append(f.appendHead(dst), `{"index":`...)
		dst = strconv.AppendInt(dst, int64(c.choice), 10)
		dst = append(dst, `,"delta":{"tool_calls":[{"index":`...)
		dst = strconv.AppendInt(dst, int64(c.number), 10)
		dst = append(dst, `,"function":{"arguments":"{}"}}]},"finish_reason":null}]}`+"\n\n"...)
	}
	return dst
}

// scanEntry scans an entry of tool_calls and stores its contents in e.
func (f *corrector) scanEntry(s *jsontext.Scanner, e *toolEntry) error {
	return s.Object(func(key []byte) (err error) {
		e.members++
		kind := s.Kind()
		start := s.Offset()
		switch {
		case string(key) == "index":
			e.index, e.indexed, err = indexOf(s, kind)
			e.indexAt = span{start, s.Offset()}
		case string(key) == "id" && kind == jsontext.String:
			e.id, _, err = s.Text()
			e.idAt = span{start, s.Offset()}
		case string(key) == "type":
			e.typed = true
			if err = s.Skip(); kind != jsontext.String {
				f.addEdit(start, s.Offset(), `"function"`)
			}
		case string(key) == "id":
			err = s.Skip()
			e.idAt = span{start, s.Offset()}
		case string(key) == "function" && kind == jsontext.Object:
			if len(e.name) == 0 { // if function occurs twice, the one with the name counts
				e.function = start + 1
			}
			err = s.Object(func(key []byte) error { return f.scanFunction(s, key, e) })
		default:
			err = s.Skip()
		}
		return err
	})
}

// scanFunction scans the value of a field of the entry's function object and stores it in e. key is the name of the
// field.
func (f *corrector) scanFunction(s *jsontext.Scanner, key []byte, e *toolEntry) error {
	kind, start := s.Kind(), s.Offset()
	isArguments := string(key) == "arguments"
	if isArguments && kind == jsontext.Object {
		err := s.Skip()
		e.argumentsAt, e.object = span{start, s.Offset()}, true
		e.arguments = s.Since(start)
		f.TextBytes += int64(len(e.arguments))
		return err
	}
	if kind != jsontext.String {
		err := s.Skip()
		e.oddArguments = e.oddArguments || isArguments && kind != jsontext.Null
		if isArguments && kind == jsontext.Null {
			e.arguments, e.argumentsAt, e.object = nil, span{start, s.Offset()}, false
		}
		return err
	}
	raw, _, err := s.Text()
	f.TextBytes += int64(len(raw))
	switch {
	case isArguments:
		e.arguments, e.argumentsAt, e.object = raw, span{start, s.Offset()}, false
	case string(key) == "name":
		e.name, e.nameAt = raw, span{start, s.Offset()}
	}
	return err
}

// tool returns the call to which the entry e belongs, and adds a new call if e begins one. choice is the index of the
// choice, and position is the index of e in tool_calls. number is the index of the call that the client gets. isNew is
// set if e begins the call. tool is nil if there are too many calls to store another one.
func (f *corrector) tool(choice, position int, e *toolEntry) (tool *choiceTool, number int, isNew bool) {
	if choice >= maxChoices {
		return nil, position, false
	}
	for len(f.tools) <= choice {
		f.tools = append(f.tools, nil)
	}
	tools := &f.tools[choice]
	e.id = e.id[:min(len(e.id), maxID)]
	if index := f.findCall(*tools, e); index >= 0 {
		tool = &(*tools)[index]
		e.hasName = tool.named // from an earlier entry
		tool.named = tool.named || len(e.name) > 0
		return tool, tool.number, false
	}
	if f.begun == maxTools {
		return nil, max(0, len(*tools)-1), false // the last call of the choice
	}
	f.begun++
	added := choiceTool{id: string(e.id), index: len(*tools), number: len(*tools), named: len(e.name) > 0}
	if e.indexed {
		added.index = e.index
	}
	if !wire.LegalID(added.id) || tools.uses(added.id) {
		added.replacement = wire.NewID("call_")
	}
	*tools = append(*tools, added)
	return &(*tools)[len(*tools)-1], added.number, true
}

// uses reports whether id is the upstream's id of one of the calls, and the client got this call with this id.
func (c choiceTools) uses(id string) bool {
	return slices.ContainsFunc(c, func(t choiceTool) bool { return t.replacement == "" && t.id == id })
}

// findCall returns the position in tools of the call that the entry e continues, or -1 if e begins a new call. An entry
// is matched by its index, or without an index by its id. An entry with neither continues the last call, unless both
// the entry and the call have a name.
func (f *corrector) findCall(tools choiceTools, e *toolEntry) int {
	last := len(tools) - 1
	switch {
	case !f.streams(): // each entry of a whole answer is a call
		return -1
	case e.indexed:
		match := tools.last(func(t *choiceTool) bool { return t.index == e.index })
		if match >= 0 && tools[match].beginsNew(e) {
			return -1
		}
		return match
	case len(e.id) > 0:
		match := tools.last(func(t *choiceTool) bool { return t.id == string(e.id) })
		if match < 0 && last >= 0 && tools[last].id == "" && len(e.name) == 0 { // the id of the last call comes late
			return last
		}
		return match
	case last >= 0 && (len(e.name) == 0 || !tools[last].named):
		return last
	}
	return -1
}

// last returns the position of the latest call for which fits returns true, or -1 if there is no such call.
func (c choiceTools) last(fits func(*choiceTool) bool) int {
	for i := len(c) - 1; i >= 0; i-- {
		if fits(&c[i]) {
			return i
		}
	}
	return -1
}

// beginsNew reports whether the entry e begins a new call although t, an earlier call, has the same index. Some
// upstreams give every call the index 0.
func (t *choiceTool) beginsNew(e *toolEntry) bool {
	return t.named && t.id != "" && len(e.name) > 0 && len(e.id) > 0 && t.id != string(e.id)
}

// removeMember adds an edit that removes a field of an object, with the comma after or before it. body is the JSON up
// to the position of the scanner. value is the position of the field's value in body.
func (f *corrector) removeMember(body []byte, value span) {
	const space = " \t\r\n"
	start, end := jsontext.KeyAt(body, value.from), value.to
	tail := bytes.TrimLeft(body[end:], space)
	if len(tail) > 0 && tail[0] == ',' {
		end = len(body) - len(bytes.TrimLeft(tail[1:], space))
	} else if head := bytes.TrimRight(body[:start], space); head[len(head)-1] == ',' {
		start = len(head) - 1
	}
	f.addEdit(start, end, "")
}
