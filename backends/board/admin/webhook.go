package admin

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Webhooks lists the webhooks. A webhook receives all events of its topics in all forums, because only administrators
// can create one.
func (s *Service) Webhooks(ctx context.Context, a *rights.Actor) ([]webhook.Webhook, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]webhook.Webhook, error) {
		return s.Hooks.List(c)
	})
}

// AddWebhook creates a webhook and returns the secret that signs its deliveries. The secret cannot be read again later.
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
			return kernel.Conflict("a board has at most " + kernel.Itoa(kernel.MaxWebhooks) + " webhooks; delete one first")
		}
		if err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "webhook.add", host(address)+": "+strings.Join(topics, " "))
	})
	return id, secret, err
}

// SetWebhook enables or disables a webhook. Deliveries that wait for a disabled webhook are sent once it is enabled
// again.
func (s *Service) SetWebhook(ctx context.Context, a *rights.Actor, id int64, enabled bool) error {
	detail := "off"
	if enabled {
		detail = "on"
	}
	return s.changeWebhook(ctx, a, id, "webhook.enable", detail, func(c store.Conn) error {
		return s.Hooks.Enable(c, id, enabled)
	})
}

// DeleteWebhook deletes a webhook with its deliveries.
func (s *Service) DeleteWebhook(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeWebhook(ctx, a, id, "webhook.delete", "", func(c store.Conn) error { return s.Hooks.Delete(c, id) })
}

// RotateWebhook replaces a webhook's secret at once and returns the new secret.
func (s *Service) RotateWebhook(ctx context.Context, a *rights.Actor, id int64) (secret string, err error) {
	var address string
	err = s.rights.ReadAsAdministrator(ctx, a, func(c store.Conn) error {
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

// TestWebhook queues a test message for a webhook. It returns a conflict error if the webhook is disabled.
func (s *Service) TestWebhook(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeWebhook(ctx, a, id, "webhook.test", "", func(c store.Conn) error {
		err := s.Hooks.Test(c, id)
		if errors.Is(err, webhook.ErrOff) {
			return kernel.Conflict(err.Error())
		}
		return err
	})
}

// changeWebhook runs fn, which changes a webhook, and records action and detail in the moderation log.
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
		return s.rights.LogChange(c, a, action, kernel.JoinDetail(host(address), detail))
	})
}

// Deliveries lists the last deliveries of a webhook, newest first.
func (s *Service) Deliveries(ctx context.Context, a *rights.Actor, id int64, limit int) ([]webhook.Delivery, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]webhook.Delivery, error) {
		return s.Hooks.Deliveries(c, id, min(max(limit, 1), kernel.MaxPage))
	})
}

// host returns the host of a webhook's URL for the log. The rest of the URL may contain a secret.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Sealed describes the column that holds the encrypted secrets of webhooks.
var Sealed = webhook.Sealed("board")
