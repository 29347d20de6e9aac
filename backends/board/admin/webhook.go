package admin

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Webhooks lists the webhooks. Each sees all of its topics, whatever the forum: an
// administrator has made it.
func (s *Service) Webhooks(ctx context.Context, a *rights.Actor) (list []webhook.Webhook, err error) {
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
		list, err = s.Hooks.List(c)
		return err
	})
	return list, err
}

// AddWebhook makes a webhook and returns the secret that signs its deliveries,
// this once.
func (s *Service) AddWebhook(
	ctx context.Context, a *rights.Actor, address string, topics []string,
) (id int64, secret string, err error) {
	address, topics, err = s.Hooks.Check(address, topics)
	if refused, ok := errors.AsType[*webhook.Error](err); ok {
		return 0, "", kernel.Invalid(refused.Field, refused.Reason, refused.Message)
	}
	if err != nil {
		return 0, "", err
	}
	if err := s.rights.Administrator(a); err != nil {
		return 0, "", err
	}
	secret, sealed, err := s.Hooks.NewSecret(ctx, address)
	if err != nil {
		return 0, "", err
	}
	err = s.rights.Administer(ctx, a, func(c store.Conn) error {
		id, err = s.Hooks.Add(c, address, topics, sealed, a.User.Name)
		if errors.Is(err, webhook.ErrMany) {
			return kernel.Conflict("there are 20 webhooks already, delete one first")
		}
		if err != nil {
			return err
		}
		return s.rights.Note(c, a, "webhook.add", host(address)+": "+strings.Join(topics, " "))
	})
	return id, secret, err
}

// SetWebhook switches a webhook on or off. What waits for one that is off is
// sent once it is on again.
func (s *Service) SetWebhook(ctx context.Context, a *rights.Actor, id int64, enabled bool) error {
	return s.changeWebhook(ctx, a, id, "webhook.enable", map[bool]string{true: "on", false: "off"}[enabled],
		func(c store.Conn) error {
			return s.Hooks.Enable(c, id, enabled)
		})
}

// DeleteWebhook removes a webhook with its deliveries.
func (s *Service) DeleteWebhook(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeWebhook(ctx, a, id, "webhook.delete", "", func(c store.Conn) error { return s.Hooks.Delete(c, id) })
}

// RotateWebhook gives a webhook a new secret, which counts at once.
func (s *Service) RotateWebhook(ctx context.Context, a *rights.Actor, id int64) (secret string, err error) {
	var address string
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
		address, err = s.Hooks.Address(c, id)
		return kernel.OrNotFound(err)
	})
	if err != nil {
		return "", err
	}
	secret, sealed, err := s.Hooks.NewSecret(ctx, address)
	if err != nil {
		return "", err
	}
	return secret, s.changeWebhook(ctx, a, id, "webhook.rotate", "",
		func(c store.Conn) error { return s.Hooks.SetSecret(c, id, sealed) })
}

// TestWebhook sends a webhook a message of no consequence.
func (s *Service) TestWebhook(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeWebhook(ctx, a, id, "webhook.test", "", func(c store.Conn) error {
		err := s.Hooks.Test(c, id)
		if errors.Is(err, webhook.ErrOff) {
			return kernel.Conflict(err.Error())
		}
		return err
	})
}

func (s *Service) changeWebhook(
	ctx context.Context, a *rights.Actor, id int64, action, detail string, fn func(c store.Conn) error,
) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		address, err := s.Hooks.Lock(c, id)
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if err := fn(c); err != nil {
			return err
		}
		return s.rights.Note(c, a, action, kernel.JoinDetail(host(address), detail))
	})
}

// Deliveries lists the last deliveries of a webhook, newest first.
func (s *Service) Deliveries(
	ctx context.Context, a *rights.Actor, id int64, limit int,
) (list []webhook.Delivery, err error) {
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
		list, err = s.Hooks.Deliveries(c, id, min(max(limit, 1), kernel.PageMost))
		return err
	})
	return list, err
}

// Deliver sends what webhooks are to be told of now, and tells how much.
func (s *Service) Deliver(ctx context.Context, sender *webhook.Sender) (int, error) {
	return s.Hooks.Deliver(ctx, sender)
}

// host returns the part of an address that may be shown. The rest may hold a secret.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// SealedSample returns some of the sealed texts in a database.
func SealedSample(ctx context.Context, db *store.DB) ([]sealed.Text, error) {
	return webhook.SealedSample(ctx, db, "board")
}

// Reencrypt makes the first key of the keyring the one that all nodes seal with,
// which they must have, and seals the secrets of webhooks anew that are under another
// one. Those of unreadable stay as they are.
func (s *Service) Reencrypt(ctx context.Context) (resealed, unreadable int, err error) {
	resealed, unreadable, err = s.Hooks.Reencrypt(ctx)
	return resealed, unreadable, kernel.Unavailable(err)
}
