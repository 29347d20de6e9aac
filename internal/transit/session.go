package transit

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// session is a token with its lease. It does not change.
type session struct {
	token     string
	half, end time.Time // of the lease; zero: it has none
	renewable bool
}

// login is one that is under way.
type login struct {
	done    chan struct{}
	session *session
	err     error
}

// session is a token that is good, as far as is known: another than spent, where that was
// refused. Half way through its lease it is renewed, which nobody waits for.
func (c *Client) session(ctx context.Context, spent *session) (*session, error) {
	c.mu.Lock()
	now, s := c.options.Now(), c.present
	good := s != nil && s != spent && (s.end.IsZero() || now.Before(s.end))
	if good && (s.half.IsZero() || now.Before(s.half)) {
		c.mu.Unlock()
		return s, nil
	}
	l := c.under
	if l == nil {
		l = &login{done: make(chan struct{})}
		c.under = l
		if !good {
			s = nil
		}
		go c.login(context.WithoutCancel(ctx), l, s) // others wait for it too
	}
	c.mu.Unlock()
	if good {
		return s, nil
	}
	select {
	case <-l.done:
		return l.session, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// login gets a token: the one before goes on, where it may, or a new one is asked for.
func (c *Client) login(ctx context.Context, l *login, before *session) {
	if before != nil && before.renewable {
		l.session, l.err = c.auth(ctx, "renew", "auth/token/renew-self", before.token, struct{}{})
	}
	if l.session == nil {
		o := c.options.AppRole
		l.session, l.err = c.auth(ctx, "login", "auth/"+escape(o.Mount)+"/login", "", map[string]string{"role_id": o.RoleID, "secret_id": o.SecretID})
	}
	c.mu.Lock()
	if c.under = nil; l.session != nil {
		c.present = l.session
	}
	c.mu.Unlock()
	close(l.done)
}

// auth asks for a token.
func (c *Client) auth(ctx context.Context, op, path, token string, body any) (*session, error) {
	var answer struct {
		Auth struct {
			Token     string `json:"client_token"`
			Lease     int64  `json:"lease_duration"` // seconds
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
