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

// associated returns the associated data with which the texts of an answer are sealed, so that a sealed text cannot be
// opened as the text of another answer.
func associated(id string) []byte { return []byte("answer_answers/" + id) }

// seal encrypts a text of the answer with the given id. Without a keyring it returns the text.
func (a *API) seal(ctx context.Context, id string, text []byte) (string, error) {
	if a.options.Keyring == nil {
		return string(text), nil
	}
	ring, err := a.options.Keyring()
	if err != nil {
		return "", err
	}
	sealed, err := ring.Seal(ctx, text, associated(id))
	return sealedMark + sealed, err
}

// stored returns an answer of an account, or of any account if account is 0, with its body in the form that was sent to
// the client. It returns accounts.ErrNoAnswer if there is no such answer.
func (a *API) stored(ctx context.Context, account int64, id string) (accounts.Answer, error) {
	ans, _, err := a.open(ctx, account, id)
	return ans, err
}

// open is like stored, and also returns the complete stored record. The record is empty if the answer has no body.
func (a *API) open(ctx context.Context, account int64, id string) (accounts.Answer, record, error) {
	var stored record
	ans, err := a.unsealed(ctx, account, id)
	if err != nil || ans.Body == "" {
		return ans, stored, err
	}
	if err := json.Unmarshal([]byte(ans.Body), &stored); err != nil {
		return ans, stored, err
	}
	body, err := json.Marshal(stored.result)
	ans.Body = string(body)
	return ans, stored, err
}

// unsealed returns a stored answer with its texts unsealed. A sealed answer without a keyring is an error.
func (a *API) unsealed(ctx context.Context, account int64, id string) (accounts.Answer, error) {
	ans, err := a.options.Accounts.Answer(ctx, account, id)
	for _, text := range []*string{&ans.Body, &ans.Trace} {
		sealed, isSealed := strings.CutPrefix(*text, sealedMark)
		if !isSealed || err != nil {
			continue
		}
		if a.options.Keyring == nil {
			return ans, errors.New("the answer is sealed, but no keyring is configured to open it")
		}
		ring, err := a.options.Keyring()
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

// Sealed lists the sealed columns: the bodies and traces of stored answers.
var Sealed = sealed.Columns{columnOf("body"), columnOf("trace")}

// columnOf describes the sealed column with a name.
func columnOf(name string) sealed.Column {
	return sealed.Column{
		Table: "answer_answers", ID: "id", Text: name, Prefix: sealedMark,
		Place: func(id string) string { return string(associated(id)) },
	}
}
