package hub

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// TokenPrefix is the beginning of every token.
	TokenPrefix = "kcs1."
	// maxToken is the size of the longest token. Clients send each token again with every turn.
	maxToken = 64 << 10
)

// Sealer makes tokens of reasoning state, which clients return with their next request: "kcs1." + base64url(nonce |
// AES-256-GCM(JSON)). A token can be opened only for the user for whom it was sealed, and any change makes it invalid.
//
// Nonces are random, which is safe for 2^32 tokens per key.
type Sealer struct{ keys []cipher.AEAD }

// NewSealer returns a sealer with keys of 32 bytes. The first key seals; every key opens.
func NewSealer(keys ...[]byte) (*Sealer, error) {
	s := &Sealer{}
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("making a sealer of reasoning state: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("making a sealer of reasoning state: %w", err)
		}
		s.keys = append(s.keys, aead)
	}
	if len(s.keys) == 0 {
		return nil, fmt.Errorf("making a sealer of reasoning state: no key was given")
	}
	return s, nil
}

// Seal returns a token that contains state and that only user can use. It returns an empty string if the state is too
// large.
func (s *Sealer) Seal(user string, state State) string {
	text, err := json.Marshal(state)
	if err != nil || len(TokenPrefix)+base64.RawURLEncoding.EncodedLen(len(text)+s.keys[0].Overhead()) > maxToken {
		return ""
	}
	sealed := s.keys[0].Seal(nil, nil, text, []byte(user)) //nolint:gosec // G407: it draws the nonce itself
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// Open returns the reasoning state in a token. It returns false if the text is not a token, was changed, or belongs to
// another user; callers cannot tell these cases apart.
func (s *Sealer) Open(user, token string) (State, bool) {
	text, isToken := strings.CutPrefix(token, TokenPrefix)
	if !isToken || len(token) > maxToken {
		return State{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return State{}, false
	}
	for _, aead := range s.keys {
		plain, err := aead.Open(nil, nil, sealed, []byte(user))
		if err != nil {
			continue
		}
		var state State
		err = json.Unmarshal(plain, &state)
		return state, err == nil
	}
	return State{}, false
}
