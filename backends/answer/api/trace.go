package api

import (
	"context"
	"encoding/json"
	"time"
)

// Trace is a question as operators see it: what became of it, and how.
type Trace struct {
	ID      string          `json:"id"`
	Status  string          `json:"status"` // pending, done or failed
	Reason  string          `json:"reason,omitempty"`
	At      time.Time       `json:"at"`
	Account int64           `json:"account"`
	Result  json.RawMessage `json:"result,omitempty"` // as the client got it
	Trace   json.RawMessage `json:"trace,omitempty"`
}

// Recent are the newest answers, without their texts, before the one with an id; empty: the
// newest of all.
func (a *API) Recent(ctx context.Context, before string, most int) ([]Trace, error) {
	list, err := a.o.Accounts.Recent(ctx, before, most)
	traces := make([]Trace, len(list))
	for i, ans := range list {
		traces[i] = Trace{ID: ans.ID, Status: ans.Status, Reason: ans.Reason, At: ans.At.UTC(), Account: ans.Account}
	}
	return traces, err
}

// Trace is that of an answer, whoever asked. Its error is accounts.ErrNone where there is
// none.
func (a *API) Trace(ctx context.Context, id string) (*Trace, error) {
	ans, err := a.stored(ctx, 0, id)
	if err != nil {
		return nil, err
	}
	t := &Trace{ID: ans.ID, Status: ans.Status, Reason: ans.Reason, At: ans.At.UTC(), Account: ans.Account}
	if ans.Body != "" {
		t.Result = json.RawMessage(ans.Body)
	}
	if ans.Trace != "" {
		t.Trace = json.RawMessage(ans.Trace)
	}
	return t, nil
}
