package api

import (
	"context"
	"encoding/json"
	"time"
)

// Trace is the view that operators have of a question: its outcome, and how it was reached.
type Trace struct {
	ID      string          `json:"id"`
	Status  string          `json:"status"` // pending, done or failed
	Reason  string          `json:"reason,omitempty"`
	At      time.Time       `json:"at"`
	Account int64           `json:"account"`
	Result  json.RawMessage `json:"result,omitempty"` // as sent to the client
	Trace   json.RawMessage `json:"trace,omitempty"`
}

// Recent returns at most limit answers of all accounts, newest first and without their texts. The list begins after the
// answer with the id beforeID, or with the newest answer if beforeID is empty.
func (a *API) Recent(ctx context.Context, beforeID string, limit int) ([]Trace, error) {
	list, err := a.options.Accounts.Recent(ctx, beforeID, limit)
	traces := make([]Trace, len(list))
	for i, ans := range list {
		traces[i] = Trace{ID: ans.ID, Status: ans.Status, Reason: ans.Reason, At: ans.Created.UTC(), Account: ans.Account}
	}
	return traces, err
}

// Trace returns an answer of any account with its trace. It returns accounts.ErrNoAnswer if there is no such
// answer.
func (a *API) Trace(ctx context.Context, id string) (*Trace, error) {
	ans, err := a.stored(ctx, 0, id)
	if err != nil {
		return nil, err
	}
	t := &Trace{ID: ans.ID, Status: ans.Status, Reason: ans.Reason, At: ans.Created.UTC(), Account: ans.Account}
	if ans.Body != "" {
		t.Result = json.RawMessage(ans.Body)
	}
	if ans.Trace != "" {
		t.Trace = json.RawMessage(ans.Trace)
	}
	return t, nil
}
