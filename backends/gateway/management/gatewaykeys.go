package management

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

type userAnswer struct {
	UserID    string    `json:"user_id"`
	CreatedAt time.Time `json:"created_at"`
	// Created reports that this call created the user's first key.
	Created bool `json:"created"`
	// Key is the user's first gateway key with its text. It is null if the user already had a key.
	Key *keychain.NewKey `json:"key"`
}

// initUser signs in the user of the token, without an invitation.
func (s *Service) initUser(c *rest.Call) (any, error) { return s.signIn(c, "") }

// signIn signs in the user of the caller's token, and creates the user at the first sign-in. invitation is the token of
// an invitation, or empty.
func (s *Service) signIn(c *rest.Call, invitation string) (any, error) {
	arrival := keychain.Arrival{ID: c.User(), Invitation: invitation}
	if caller, ok := c.Who.(*Caller); ok {
		arrival.Email, arrival.Name = caller.Email, caller.Name
		arrival.Teams, arrival.Groups, arrival.Complete = s.Teams.apply(caller)
		arrival.Operator = s.Operators.selects(caller)
	}
	user, key, created, err := s.Keychain.SignIn(c.R.Context(), arrival, s.NewUsers)
	if err != nil {
		return nil, err
	}
	if created {
		c.Status = http.StatusCreated
	}
	return userAnswer{UserID: user.ID, CreatedAt: user.CreatedAt.UTC(), Created: created, Key: key}, nil
}

func (s *Service) listKeys(c *rest.Call, user string) (any, error) {
	keys, err := s.Keychain.Keys(c.R.Context(), user)
	return listIn("keys", keys, err)
}

// keyInput is the body for a new key. All members are optional.
type keyInput struct {
	Label      string              `json:"label"`
	EffortMode keychain.EffortMode `json:"effort_mode"`
	TeamID     string              `json:"team_id"`
	keychain.Limits
}

func (s *Service) createKey(c *rest.Call, user string) (any, error) {
	options, err := s.keyOptions(c)
	if err != nil {
		return nil, err
	}
	return s.Keychain.CreateKey(c.R.Context(), user, options)
}

// keyOptions parses the body for a new key.
func (s *Service) keyOptions(c *rest.Call) (keychain.KeyOptions, error) {
	var in keyInput
	err := c.DecodeIfAny(&in)
	return keychain.KeyOptions{
		Label: in.Label, Limits: in.Limits, EffortMode: in.EffortMode, TeamID: in.TeamID, Catalog: s.Catalog(),
	}, err
}

func (s *Service) regenerateKey(c *rest.Call, user string) (any, error) {
	return s.Keychain.RegenerateKey(c.R.Context(), user)
}

// keyChange is the body of an update. Absent members leave their values unchanged, null removes a limit.
type keyChange struct {
	Label              *string                  `json:"label"`
	RateLimitPerMinute member[int64]            `json:"rate_limit_per_minute"`
	ClearRateLimit     bool                     `json:"clear_rate_limit"`
	ExpiresAt          member[time.Time]        `json:"expires_at"`
	ClearExpiry        bool                     `json:"clear_expiry"`
	AllowedModels      member[[]string]         `json:"allowed_models"`
	AllowedTools       member[[]string]         `json:"allowed_tools"`
	Budgets            member[keychain.Budgets] `json:"budgets"`
	TokensPerMinute    member[int64]            `json:"tokens_per_minute"`
	ParallelRequests   member[int64]            `json:"parallel_requests"`
	EffortMode         *keychain.EffortMode     `json:"effort_mode"`
}

// member is a member of a JSON body that distinguishes null from an absent member.
type member[T any] struct {
	null  bool
	value *T // nil if the member is absent or null
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *member[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // the setting of the outer decoder is not passed on
	err := d.Decode(&m.value)
	m.null = err == nil && m.value == nil
	return err
}

// set sets a limit to the value of the member. Null removes the limit, and an absent member changes nothing.
func (m *member[T]) set(limit **T) {
	if m.value != nil || m.null {
		*limit = m.value
	}
}

// setValue sets a limit to the value of the member. It is for limits for which zero means unlimited. Null sets the
// limit to zero, and an absent member changes nothing.
func (m *member[T]) setValue(limit *T) {
	if m.null {
		*limit = *new(T)
	} else if m.value != nil {
		*limit = *m.value
	}
}

// edit applies the changes in the body to limits.
func (in *keyChange) edit(limits *keychain.Limits) {
	in.RateLimitPerMinute.set(&limits.RateLimitPerMinute)
	in.ExpiresAt.set(&limits.ExpiresAt)
	in.TokensPerMinute.set(&limits.TokensPerMinute)
	in.ParallelRequests.set(&limits.ParallelRequests)
	in.AllowedModels.setValue(&limits.AllowedModels)
	in.AllowedTools.setValue(&limits.AllowedTools)
	in.Budgets.setValue(&limits.Budgets)
}

// applyClearFlags sets the member rate_limit_per_minute to null if clear_rate_limit is set, and the member expires_at
// to null if clear_expiry is set. It returns an error if a member that it must set to null has a value.
func (in *keyChange) applyClearFlags() error {
	if in.ClearRateLimit && in.RateLimitPerMinute.value != nil {
		return apierror.New(http.StatusBadRequest, "invalid_value",
			"clear_rate_limit and rate_limit_per_minute exclude each other").With("clear_rate_limit")
	}
	if in.ClearExpiry && in.ExpiresAt.value != nil {
		return apierror.New(http.StatusBadRequest, "invalid_value", "clear_expiry and expires_at exclude each other").
			With("clear_expiry")
	}
	in.RateLimitPerMinute.null = in.RateLimitPerMinute.null || in.ClearRateLimit
	in.ExpiresAt.null = in.ExpiresAt.null || in.ClearExpiry
	return nil
}

func (s *Service) updateKey(c *rest.Call) (any, error) {
	var in keyChange
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if err := in.applyClearFlags(); err != nil {
		return nil, err
	}
	return s.Keychain.UpdateKey(c.R.Context(), c.User(), c.Path("key_id"), keychain.KeyChange{
		Label: in.Label, EffortMode: in.EffortMode, Limits: in.edit, Catalog: s.Catalog(),
	})
}

func (s *Service) revokeKey(c *rest.Call) (any, error) {
	return nil, s.Keychain.RevokeKey(c.R.Context(), c.User(), c.Path("key_id"))
}

func (s *Service) keysOf(c *rest.Call) (any, error) { return s.listKeys(c, c.Path("user_id")) }

// makeKeyFor creates a key whose limits the user cannot change.
func (s *Service) makeKeyFor(c *rest.Call) (any, error) {
	options, err := s.keyOptions(c)
	if err != nil {
		return nil, err
	}
	options.Impose = true
	return s.Keychain.CreateKey(c.R.Context(), c.Path("user_id"), options)
}

// allKeys lists the gateway keys of all users and teams.
func (s *Service) allKeys(c *rest.Call) (any, error) {
	return listAfter(c, func(cursor string, limit int) ([]keychain.HeldKey, error) {
		revoked, err := c.Choice("revoked", "false", "true")
		if err != nil {
			return nil, err
		}
		return s.Keychain.AllKeys(c.R.Context(), strings.TrimSpace(c.Text("q")), cursor, revoked == "true", limit)
	}, (*keychain.HeldKey).Place, unchanged)
}

// limitKeyOf returns a handler that replaces the limits imposed on a gateway key. holder returns the id of the user or
// team that the key belongs to.
func (s *Service) limitKeyOf(holder func(c *rest.Call) string) handler {
	return func(c *rest.Call) (any, error) {
		var in keychain.Limits
		if err := c.Decode(&in); err != nil {
			return nil, err
		}
		return s.Keychain.UpdateKey(c.R.Context(), holder(c), c.Path("key_id"), keychain.KeyChange{
			Limits: func(l *keychain.Limits) { *l = in }, Catalog: s.Catalog(), Impose: true,
		})
	}
}

func (s *Service) revokeKeyOf(c *rest.Call) (any, error) {
	return nil, s.Keychain.RevokeKey(c.R.Context(), c.Path("user_id"), c.Path("key_id"))
}
