package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
)

// sealedMark is the prefix of sealed texts.
const sealedMark = "sealed:"

func associated(id string) []byte { return []byte("answer_answers/" + id) }

func (a *API) seal(ctx context.Context, id string, text []byte) (string, error) {
	if a.o.Keyring == nil {
		return string(text), nil
	}
	ring, err := a.o.Keyring()
	if err != nil {
		return "", err
	}
	sealed, err := ring.Seal(ctx, text, associated(id))
	return sealedMark + sealed, err
}

// stored returns an answer with the body that the client got.
func (a *API) stored(ctx context.Context, account int64, id string) (accounts.Answer, error) {
	ans, _, err := a.open(ctx, account, id)
	return ans, err
}

// open returns an answer with the body that the client got, and the whole stored record.
func (a *API) open(ctx context.Context, account int64, id string) (accounts.Answer, record, error) {
	var kept record
	ans, err := a.unsealed(ctx, account, id)
	if err != nil || ans.Body == "" {
		return ans, kept, err
	}
	if err := json.Unmarshal([]byte(ans.Body), &kept); err != nil {
		return ans, kept, err
	}
	body, err := json.Marshal(kept.result)
	ans.Body = string(body)
	return ans, kept, err
}

// unsealed returns a stored answer with its texts unsealed. A sealed answer without a keyring is an error.
func (a *API) unsealed(ctx context.Context, account int64, id string) (accounts.Answer, error) {
	ans, err := a.o.Accounts.Answer(ctx, account, id)
	for _, text := range []*string{&ans.Body, &ans.Trace} {
		sealed, is := strings.CutPrefix(*text, sealedMark)
		if !is || err != nil {
			continue
		}
		if a.o.Keyring == nil {
			return ans, errors.New("the answer is sealed, and there is no keyring to open it")
		}
		ring, err := a.o.Keyring()
		if err != nil {
			return ans, err
		}
		open, err := ring.Open(ctx, sealed, associated(id))
		if err != nil {
			return ans, err
		}
		*text = string(open)
	}
	return ans, err
}

// Sealed are the columns of stored answers and traces.
var Sealed = sealed.Columns{columnOf("body"), columnOf("trace")}

func columnOf(text string) sealed.Column {
	return sealed.Column{
		Table: "answer_answers", ID: "id", Text: text, Prefix: sealedMark,
		Place: func(id string) string { return string(associated(id)) },
	}
}
