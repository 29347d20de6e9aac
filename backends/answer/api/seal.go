package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
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

// resealBatch is how many answers are read at a time.
const resealBatch = 100

// Reencrypt seals those stored answers and traces anew that are sealed with an older key. It needs a Keyring,
// and first makes the newest key the one that all nodes seal with. It can be interrupted and called again. It
// returns how many texts it has sealed anew, and how many no key opens. progress is called after each batch
// with the number of answers that were looked at so far.
func (a *API) Reencrypt(ctx context.Context, progress func(looked int)) (resealed, unreadable int, err error) {
	ring, err := a.o.Keyring()
	if err != nil {
		return 0, 0, err
	}
	if err := keyring.Advance(ctx, ring); err != nil {
		return 0, 0, err
	}
	after, looked := "", 0
	for {
		list, err := a.o.Accounts.Stored(ctx, after, resealBatch)
		if err != nil || len(list) == 0 {
			return resealed, unreadable, err
		}
		for _, previous := range list {
			replacement, anew := previous, 0
			for _, text := range []*string{&replacement.Body, &replacement.Trace} {
				sealed, is := strings.CutPrefix(*text, sealedMark)
				if !is || ring.Current(sealed) {
					continue
				}
				open, err := ring.Open(ctx, sealed, associated(previous.ID))
				if errors.Is(err, keyring.ErrOpen) {
					unreadable++
					continue
				}
				if err == nil {
					*text, err = a.seal(ctx, previous.ID, open)
				}
				if err != nil {
					return resealed, unreadable, err
				}
				anew++
			}
			if anew > 0 {
				if err := a.o.Accounts.Replace(ctx, previous, replacement); err != nil {
					return resealed, unreadable, err
				}
			}
			resealed += anew
		}
		after = list[len(list)-1].ID
		looked += len(list)
		progress(looked)
	}
}
