package cascade

import (
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// learnedFor is how long a refused parameter is remembered, and maxLearned for how
// many models of how many users together.
const (
	learnedFor = 24 * time.Hour
	maxLearned = 50_000
)

// Learned remembers which parameters a model refused, so that the next request
// leaves them out at once (specification 13.3). It does so for the user alone who met
// it: the words of an error may be those of their request, given back, and must not
// take a parameter from the others.
type Learned struct {
	mu  sync.RWMutex
	fix map[scope]*fixes
	now func() time.Time
}

// fixFormat stands for the format in place of a parameter: a provider that does
// not know the address of its native format, such as a proxy, is asked by chat.
const fixFormat = "format"

// fixCallIDs stands for the ids of tool calls that are too long, see usualCallID.
const fixCallIDs = "tool_call_id"

// fixToolsClash stands for tools together with an effort, which are sent by another wire, or
// without the effort where there is none.
const fixToolsClash = "tools with reasoning_effort"

// usualCallID is the limit for the ids of calls where a provider has one below that of the
// APIs: OpenAI's, which servers that stand in front of it have too.
const usualCallID = 40

type fixes struct {
	until time.Time
	drop  []string
	limit string // the name of the token limit that works
	chat  bool   // only the chat format works
	ids   bool   // only short ids of calls work
	clash bool   // tools and an effort do not work together in chat completions
}

// with adds what to do about a refused parameter: another name for a token
// limit, none for the rest.
func (f *fixes) with(param string) {
	switch param {
	case catalog.FieldMaxCompletionTokens:
		f.limit = catalog.FieldMaxTokens
	case catalog.FieldMaxTokens:
		f.limit = catalog.FieldMaxCompletionTokens
	case fixFormat:
		f.chat = true
	case fixToolsClash:
		f.clash = true
	case fixCallIDs:
		f.ids = true
	default:
		if !slices.Contains(f.drop, param) {
			f.drop = append(f.drop, param)
		}
	}
}

func (f *fixes) apply(shape *shape) {
	shape.onlyChat = shape.onlyChat || f.chat
	shape.toolsClash = shape.toolsClash || f.clash
	if f.ids && (shape.callIDMax == 0 || shape.callIDMax > usualCallID) {
		shape.callIDMax = usualCallID
	}
	if len(f.drop) > 0 {
		shape.Drop = slices.Concat(shape.Drop, f.drop)
		if slices.Contains(f.drop, "stream_options") {
			shape.StreamUsage = false
		}
	}
	if f.limit != "" {
		shape.MaxTokensField = f.limit
	}
}

// NewLearned returns an empty memory.
func NewLearned(now func() time.Time) *Learned {
	return &Learned{fix: make(map[scope]*fixes), now: now}
}

// add notes that a model refused a user's param and worked without it.
func (l *Learned) add(provider, user, model, param string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := scope{provider: provider, user: user, model: model}
	now := l.now()
	old := l.fix[s]
	f := &fixes{until: now.Add(learnedFor)}
	if old != nil && old.until.After(now) {
		*f = *old
		f.until, f.drop = now.Add(learnedFor), slices.Clone(old.drop)
	} else if len(l.fix) >= maxLearned {
		clear(l.fix) // it is learned again by one refused request each
	}
	f.with(param)
	l.fix[s] = f
}

// apply changes a shape by what the user has learned of the model.
func (l *Learned) apply(provider, user, model string, shape *shape) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.fix) == 0 {
		return
	}
	f := l.fix[scope{provider: provider, user: user, model: model}]
	if f != nil && f.until.After(l.now()) {
		f.apply(shape)
	}
}
