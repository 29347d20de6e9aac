package native

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// corrector is the state of correcting a whole answer or the chunks of a stream. The model's name in the answer becomes
// the name that the client requested, and common mistakes of upstreams are corrected.
type corrector struct {
	object          string // value of the field object: "chat.completion" or "chat.completion.chunk"
	delta           string // name of the field of a choice with its content: "message" or "delta"
	model           string // the requested model as JSON text
	id              string // the upstream's first id
	created         int64  // our creation time, for an upstream that sends none; 0 until it is set
	upstreamCreated int64  // the upstream's first creation time; 0 until it sends one

	// Finish is the last finish_reason so far. It is empty until one arrives.
	Finish string
	// Usage is the last usage that the upstream stated.
	Usage wire.Usage
	// TextBytes is the number of bytes of text, reasoning and tool arguments.
	TextBytes int64

	tools          []choiceTools // tool calls, indexed by the choice
	begun          int           // number of calls in tools
	emptyCalls     []emptyCall   // calls without arguments that end with this body
	newCalls       []newCall     // calls that began in this body
	open, finished choiceSet     // choices that have begun, choices with a finish_reason
	roles          choiceSet     // choices whose role the client has
	parts          parts         // texts of content in parts
	// edits are the corrections of this body, sorted by position. Fields that turn out to be missing are inserted at the
	// start of an object. For them, the scan of the object begins with an edit without effect (an empty range replaced by
	// nothing), which gets its text when the object is complete.
	edits jsontext.Edits
	space [8]jsontext.Edit // initial memory of edits, saves allocations
}

// maxChoices, maxTools (over all choices) and maxID (in bytes) limit the data from an upstream that the gateway stores.
// The ids of calls are stored to find the call that a later entry continues.
const (
	maxChoices = 128
	maxTools   = 1024
	maxID      = 256
)

// maxEntries limits the number of tool_calls entries in one body, since each entry is followed by a search for its
// call.
const maxEntries = 4 * maxTools

// choiceSet is a set of choice indexes.
type choiceSet [maxChoices / 64]uint64

// add adds a choice to the set, unless its index is too large.
func (c *choiceSet) add(index int) {
	if index < maxChoices {
		c[index/64] |= 1 << (index % 64)
	}
}

// has reports whether the set has the choice. It returns true for an index that is too large to be stored.
func (c *choiceSet) has(index int) bool {
	return index >= maxChoices || c[index/64]&(1<<(index%64)) != 0
}

// streams reports whether f corrects the chunks of a stream rather than a whole answer. In a stream each choice of a
// chunk must have a delta, since clients read the fields of the delta without checking that it exists.
func (f *corrector) streams() bool { return f.delta == "delta" }

// bodyFacts holds the facts about one body, which is a chunk or a whole answer.
type bodyFacts struct {
	proof        bool   // content that proves that the candidate works
	thinks       bool   // reasoning state, which shows that the model is thinking
	empty        bool   // no fields
	choices      int    // number of choices
	tools        int    // number of entries of tool_calls
	usage        span   // the field usage with the comma before it, if its value is an object
	usageValue   int    // offset of the value of usage
	failure      []byte // the object with a non-null field "error": the body or a choice
	sawUsage     bool   // usage is an object
	hasTokens    bool   // the usage states tokens
	afterBrace   int    // offset after the body's opening brace
	texts        int    // number of non-empty texts in deltas
	text         span   // position of the last text, without the quotes
	padding      span   // position of padding after the text
	otherContent bool   // other content than text, or a finish_reason
}

// onlyText reports whether a chunk has exactly one choice with exactly one text, and no usage, error, finish_reason,
// tool calls or other content. Such a chunk may serve as a template for the next chunks.
func (s *bodyFacts) onlyText() bool {
	return s.choices == 1 && s.texts == 1 && !s.otherContent && !s.sawUsage && s.failure == nil
}

// scan parses body, stores the corrections in f.edits and returns the facts about the body. For an error object it
// sets bodyFacts.failure and returns a nil error. An error wraps wire.ErrBroken. It means that the body is not a JSON
// object, that the JSON is invalid, or that there are too many tool calls.
func (f *corrector) scan(body []byte) (bodyFacts, error) {
	var facts bodyFacts
	if f.edits == nil {
		f.edits = f.space[:0]
	}
	f.edits, f.emptyCalls, f.newCalls = f.edits[:0], f.emptyCalls[:0], f.newCalls[:0]
	s := jsontext.NewScanner(body)
	if s.Kind() != jsontext.Object {
		if wire.ListsError(body) {
			facts.failure = body
			return facts, nil
		}
		return facts, wire.ErrBroken
	}
	facts.afterBrace = s.Offset() + 1
	var has headMembers
	insertAt := len(f.edits)
	f.edits.Replace(facts.afterBrace, facts.afterBrace, "") // for the missing fields
	previousEnd := facts.afterBrace                         // end of the previous field, where the comma begins
	facts.empty = true
	err := wire.ScanAnswer(&s, func(key []byte) error {
		facts.empty = false
		kind := s.Kind()
		start := s.Offset()
		var err error
		switch string(key) {
		case "id":
			has |= headID
			err = f.scanID(&s, kind, start)
		case "object":
			has |= headObject
			err = s.Skip()
		case "created":
			has |= headCreated
			if f.upstreamCreated == 0 {
				err = s.Count(&f.upstreamCreated)
			} else {
				err = s.Skip()
			}
		case "model":
			has |= headModel
			if err = s.Skip(); err == nil {
				f.edits.Replace(start, s.Offset(), f.model)
			}
		case "choices":
			has |= headChoices
			if kind != jsontext.Array {
				if err = s.Skip(); err == nil {
					f.edits.Replace(start, s.Offset(), "[]")
				}
				break
			}
			err = s.Array(func(i int) error {
				facts.choices++
				return f.scanChoice(&s, i, &facts)
			})
		case "usage":
			facts.hasTokens, err = wire.ScanUsage(&s, &f.Usage)
			if kind == jsontext.Object {
				facts.sawUsage = true
				facts.usage, facts.usageValue = span{previousEnd, s.Offset()}, start
			}
		case "service_tier":
			err = wire.ScanTerm(&s, &f.Usage.Served, wire.TermTier)
		case "obfuscation": // OpenAI's padding, with another length in each chunk
			err = s.Skip()
			if kind == jsontext.String && facts.texts > 0 && facts.padding.to == 0 { // a template needs it after the text
				facts.padding = span{start + 1, s.Offset() - 1}
			} else {
				facts.otherContent = true
			}
		case "error":
			err = s.Skip()
			if kind != jsontext.Null && err == nil {
				facts.failure = body
			}
		default:
			err = s.Skip()
		}
		previousEnd = s.Offset()
		return err
	})
	if err != nil {
		return facts, err
	}
	if !facts.empty && has != headAll {
		f.edits[insertAt].Text = f.missing(has)
	}
	return facts, nil
}

// headMembers is a set of the top-level fields that every answer must have.
type headMembers uint8

const (
	headID headMembers = 1 << iota
	headObject
	headCreated
	headModel
	headChoices

	headAll = headChoices<<1 - 1
)

// missing returns the JSON text of those required fields that are not in members, with a comma after each field. The
// text is inserted at the start of the body's object.
func (f *corrector) missing(members headMembers) (text string) {
	if members&headID == 0 {
		text += `"id":"` + f.identity() + `",`
	}
	if members&headObject == 0 {
		text += `"object":"` + f.object + `",`
	}
	if members&headCreated == 0 {
		text += `"created":` + strconv.FormatInt(f.now(), 10) + `,`
	}
	if members&headModel == 0 {
		text += `"model":` + f.model + `,`
	}
	if members&headChoices == 0 {
		text += `"choices":[],`
	}
	return text
}

// complete reports whether at least one finish_reason has been read, and every choice that has begun has a
// finish_reason.
func (f *corrector) complete() bool { return f.Finish != "" && f.open == f.finished }

// identity returns the id of the answer: the upstream's first id, or a new one if the upstream sent none.
func (f *corrector) identity() string {
	if f.id == "" {
		f.id = wire.NewID("chatcmpl-")
	}
	return f.id
}

// now returns the creation time of the answer in Unix seconds. It is the same for all chunks.
func (f *corrector) now() int64 {
	if f.upstreamCreated != 0 {
		return f.upstreamCreated
	}
	if f.created == 0 {
		f.created = time.Now().Unix()
	}
	return f.created
}

// scanID scans the value of the field id. Since the id must not change during a stream, any other id than the first one
// is replaced by the first. An id that is missing, too long or not a string is replaced too. kind and start are the
// kind and the offset of the value.
func (f *corrector) scanID(s *jsontext.Scanner, kind jsontext.Kind, start int) error {
	if kind != jsontext.String {
		if err := s.Skip(); err != nil {
			return err
		}
		f.edits.Replace(start, s.Offset(), `"`+f.identity()+`"`)
		return nil
	}
	raw, _, err := s.Text()
	switch {
	case err != nil:
		return err
	case len(raw) == 0 || len(raw) > maxID || (f.id != "" && f.id != string(raw)):
		f.edits.Replace(start, s.Offset(), `"`+f.identity()+`"`)
	case f.id == "":
		f.id = string(raw)
	}
	return nil
}

// scanChoice scans an element of choices and adds the edits that correct it. position is the element's position in
// choices, which counts as the index of a choice without the field index.
func (f *corrector) scanChoice(s *jsontext.Scanner, position int, facts *bodyFacts) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	index := position
	hasIndex, hasDelta := false, false
	searched := false   // findIndex was called
	objectScanner := *s // for findIndex
	objectStart := s.Offset() + 1
	insertAt := len(f.edits)
	f.edits.Replace(objectStart, objectStart, "") // for the missing fields
	var finishAt span
	finish := ""
	empty, failed := true, false
	err := s.Object(func(key []byte) error {
		empty = false
		kind := s.Kind()
		valueStart := s.Offset()
		switch string(key) {
		case "index":
			hasIndex = true
			n, ok, err := indexOf(s, kind)
			if err != nil {
				return err
			}
			if ok {
				index = n
			} else {
				f.edits.Replace(valueStart, s.Offset(), strconv.Itoa(position))
			}
			return nil
		case f.delta:
			hasDelta = true
			if kind != jsontext.Object {
				err := s.Skip()
				if f.streams() && err == nil {
					f.edits.Replace(valueStart, s.Offset(), "{}")
				}
				return err
			}
			if !hasIndex && !searched { // the index may come after the delta
				searched = true
				if n, ok := findIndex(&objectScanner); ok {
					index = n
				}
			}
			return f.scanDelta(s, index, facts)
		case "finish_reason":
			if kind != jsontext.String {
				break
			}
			raw, err := s.Word()
			finishAt = span{valueStart, s.Offset()}
			finish = jsontext.Known(raw, wire.FinishReasons...)
			return err
		case "error":
			failed = kind != jsontext.Null
		}
		return s.Skip()
	})
	if err != nil {
		return err
	}
	if failed && facts.failure == nil {
		facts.failure = s.Since(objectStart - 1)
	}
	if !hasIndex && !empty {
		f.edits[insertAt].Text = `"index":` + strconv.Itoa(position) + `,`
	}
	if !hasDelta && !empty && f.streams() {
		f.edits[insertAt].Text += `"delta":{},`
	}
	f.open.add(index)
	if !finishAt.empty() {
		f.finish(index, finish, finishAt, facts)
	}
	return nil
}

// finish records the finish_reason of the choice with the given index. value is the position of the value in the body.
// An empty reason is replaced by null and not recorded. The reason "stop" is replaced by "tool_calls" if the choice has
// tool calls.
func (f *corrector) finish(index int, reason string, value span, facts *bodyFacts) {
	switch reason {
	case "":
		f.addEdit(value.from, value.to, "null")
		return
	case "stop":
		if index < len(f.tools) && len(f.tools[index]) > 0 {
			reason = "tool_calls"
			f.addEdit(value.from, value.to, `"tool_calls"`)
		}
	}
	f.Finish = reason
	f.completeCalls(index)
	f.finished.add(index)
	facts.proof, facts.otherContent = true, true
}

// indexOf scans the value of a field index. ok is set if the value is a whole number from 0 to math.MaxInt32. Any other
// value is skipped without an error. kind is the kind of the value.
func indexOf(s *jsontext.Scanner, kind jsontext.Kind) (index int, ok bool, err error) {
	if kind != jsontext.Number {
		return 0, false, s.Skip()
	}
	n, ok, err := s.Int()
	return int(n), ok && 0 <= n && n <= math.MaxInt32, err
}

// findIndex returns the value of the field index in the object that s is about to scan. ok is false if the object has
// no valid index. s must be a copy of the scanner in use, since findIndex scans ahead.
func findIndex(s *jsontext.Scanner) (index int, ok bool) {
	_ = s.Object(func(key []byte) (err error) { // errors are reported when the object itself is scanned
		if string(key) != "index" {
			return s.Skip()
		}
		index, ok, err = indexOf(s, s.Kind())
		return err
	})
	return index, ok
}

// addEdit adds an edit that replaces the bytes start <= i < end of the body by text. It keeps f.edits sorted by
// position, since fields may come in any order: finish_reason, for example, may come before delta.
func (f *corrector) addEdit(start, end int, text string) {
	index := len(f.edits)
	for index > 0 && f.edits[index-1].From > start {
		index--
	}
	f.edits = append(f.edits, jsontext.Edit{})
	copy(f.edits[index+1:], f.edits[index:])
	f.edits[index] = jsontext.Edit{From: start, To: end, Text: text}
}

// replaceValue adds an edit that replaces the value at the given position of the body by text. If an edit already
// replaces this value, replaceValue only changes the text of that edit.
func (f *corrector) replaceValue(position span, text string) {
	for i := range f.edits {
		if f.edits[i].From == position.from && f.edits[i].To == position.to {
			f.edits[i].Text = text
			return
		}
	}
	f.addEdit(position.from, position.to, text)
}

// Reply holds the facts that ReadReply finds in a whole answer.
type Reply struct {
	// Finish is the last finish_reason in the answer.
	Finish    string
	Usage     wire.Usage
	TextBytes int64
}

// correctors are unused correctors for whole answers.
var correctors = sync.Pool{New: func() any { return new(corrector) }}

// ReadReply parses body, a whole answer of an upstream, and appends the corrected answer for the client to dst. model
// is the model's name that the client requested. The errors are a *wire.UpstreamError for an answer that is an error,
// wire.ErrNoChoices for an answer without content, and errors that wrap wire.ErrBroken.
func ReadReply(dst, body []byte, model string) ([]byte, Reply, error) {
	f := correctors.Get().(*corrector)
	defer func() {
		*f = corrector{} // it may hold memory as large as the answer
		correctors.Put(f)
	}()
	f.object, f.delta, f.model = "chat.completion", "message", string(jsontext.AppendQuoted(nil, model))
	facts, err := f.scan(body)
	switch {
	case err != nil:
	case facts.failure != nil:
		err = wire.ParseUpstreamError(200, facts.failure)
	case f.Finish == "error":
		err = &wire.UpstreamError{Status: 200, Code: "error", Message: "the model ended with an error"}
	case !facts.proof:
		err = wire.ErrNoChoices
	}
	if err != nil {
		return nil, Reply{}, err
	}
	return f.edits.Apply(dst, body), Reply{Finish: f.Finish, Usage: f.Usage, TextBytes: f.TextBytes}, nil
}
