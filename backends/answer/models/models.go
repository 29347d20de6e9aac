// Package models contains the chat models that write and judge answers: an interface, a client of any chat completions
// endpoint, and a scripted model for tests. It has no prompts.
//
// The service runs without a model: a nil Model means that there is no model.
package models

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Tier is a level of cost and quality.
type Tier string

// Tiers. The gateway has pseudo-models with these names, such as "keychain-low".
const (
	Low    Tier = "low"
	Medium Tier = "medium"
	High   Tier = "high"
)

// Message is a message of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// Request is a request to a model.
type Request struct {
	Tier     Tier
	Messages []Message
	// Schema is the JSON schema of the answer. It is nil for an answer in text.
	Schema json.RawMessage
	// Name is the name of the schema, and of the step in traces: "verdict", "draft", "judge".
	Name string
	// MaxTokens bounds the answer. Default: 1,024.
	MaxTokens int
}

// Response is the answer of a model.
type Response struct {
	Text  string
	Model string // the model that answered
	Usage Usage
}

// Usage is the number of tokens used.
type Usage struct{ Prompt, Completion int }

// Add adds v to u.
func (u *Usage) Add(v Usage) { u.Prompt, u.Completion = u.Prompt+v.Prompt, u.Completion+v.Completion }

// Model is a language model. It is safe for concurrent use.
type Model interface {
	// Complete returns the answer of the model. It returns when ctx ends. The error wraps ErrUnavailable if the model
	// cannot be used now.
	Complete(ctx context.Context, r Request) (Response, error)
}

// ErrUnavailable is wrapped by the errors of a model that cannot be used now, because there is no key or route, or
// because every provider has failed.
var ErrUnavailable = errors.New("the model is not available")

// errRefused means that an endpoint refuses the content of a request.
var errRefused = errors.New("the endpoint refused the request")

// Scripted is a Model that answers by calling a function. It is for tests, and for trying out the service.
type Scripted func(r Request) (string, error)

// Complete implements Model.
func (s Scripted) Complete(ctx context.Context, r Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	text, err := s(r)
	prompt := 0
	for _, m := range r.Messages {
		prompt += len(m.Content) / 4
	}
	return Response{Text: text, Model: "scripted", Usage: Usage{prompt, len(text) / 4}}, err
}

// JSON requests an answer that is a JSON object and decodes it into a T. Text around the object, such as the fence of a
// code block, is ignored. It returns an error if the model fails or if its answer is not such an object.
func JSON[T any](ctx context.Context, m Model, r Request) (answer T, response Response, err error) {
	response, err = m.Complete(ctx, r)
	if err != nil {
		return answer, response, err
	}
	err = json.Unmarshal(object(response.Text), &answer)
	return answer, response, err
}

// object returns the text from the first opening brace to the last closing one, or nil if there are none.
func object(s string) []byte {
	start, end := strings.IndexByte(s, '{'), strings.LastIndexByte(s, '}')
	if start < 0 || end < start {
		return nil
	}
	return []byte(s[start : end+1])
}
