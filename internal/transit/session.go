package transit

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// session is a token with its lease. It is immutable.
type session struct {
	token     string
	half      time.Time // half of the lease; zero without a lease
	end       time.Time // end of the lease; zero without a lease
	renewable bool
}

// login is a login or a renewal that is under way. session and err are its result, valid once done is closed.
type login struct {
	done    chan struct{}
	session *session
	err     error
}

// session returns a token that is valid as far as the client knows. If refused is not nil, the server has refused the
// token of that session, and session returns another token. A token in the second half of its lease is still returned,
// but session begins to renew it in the background. If the client has no valid token, session waits for a login, which
// all callers share, until ctx ends.
func (c *Client) session(ctx context.Context, refused *session) (*session, error) {
	c.mu.Lock()
	now, s := c.options.Now(), c.present
	// The times of a session without a lease are zero. It does not end.
	valid := s != nil && s != refused && (s.end.IsZero() || now.Before(s.end))
	if valid && (s.half.IsZero() || now.Before(s.half)) {
		c.mu.Unlock()
		return s, nil
	}
	l := c.underWay
	if l == nil { // the lock has been held since the session was read, so only one caller gets here
		l = &login{done: make(chan struct{})}
		c.underWay = l
		if !valid {
			s = nil // it cannot be renewed
		}
		go c.login(context.WithoutCancel(ctx), l, s) // other callers wait for the login too
	}
	c.mu.Unlock()
	if valid {
		return s, nil
	}
	select {
	case <-l.done:
		return l.session, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// login gets a token: it renews the previous token if possible, and logs in otherwise.
func (c *Client) login(ctx context.Context, l *login, previous *session) {
	if previous != nil && previous.renewable {
		l.session, l.err = c.auth(ctx, "renew", "auth/token/renew-self", previous.token, struct{}{})
	}
	if l.session == nil {
		o := c.options.AppRole
		l.session, l.err = c.auth(ctx, "login", "auth/"+escape(o.Mount)+"/login", "",
			map[string]string{"role_id": o.RoleID, "secret_id": o.SecretID})
	}
	c.mu.Lock()
	c.underWay = nil
	if l.session != nil { // after a failed renewal, the present session is used until it ends
		c.present = l.session
	}
	c.mu.Unlock()
	close(l.done)
}

// auth gets a token from the server by sending a request with body to path. The request itself is authenticated with
// token, unless token is empty. op is as for call.
func (c *Client) auth(ctx context.Context, op, path, token string, body any) (*session, error) {
	var answer struct {
		Auth struct {
			Token     string `json:"client_token"`
			Lease     int64  `json:"lease_duration"` // in seconds
			Renewable bool   `json:"renewable"`
		} `json:"auth"`
	}
	began := c.options.Now()
	if err := c.ask(ctx, op, http.MethodPost, path, token, body, &answer); err != nil {
		return nil, fmt.Errorf("logging in: %w", err)
	}
	s := &session{token: answer.Auth.Token, renewable: answer.Auth.Renewable}
	if s.token == "" {
		return nil, fmt.Errorf("logging in: %w: its answer has no token", ErrUnavailable)
	}
	if lease := time.Duration(min(max(answer.Auth.Lease, 0), 1<<32)) * time.Second; lease > 0 {
		s.half, s.end = began.Add(lease/2), began.Add(lease)
	}
	return s, nil
}
