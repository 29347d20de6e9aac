package web

import (
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

const deliveriesShown = 50

// webhooksPage are the webhooks, and one to be made.
type webhooksPage struct {
	List   []webhook.Webhook
	All    []string
	URL    string
	Topics []string
}

// Has reports whether a topic is ticked.
func (p webhooksPage) Has(topic string) bool { return slices.Contains(p.Topics, topic) }

func (c *call) webhooks() error { return c.showWebhooks(nil, "", posts.Topics) }

func (c *call) showWebhooks(refusal error, address string, topics []string) error {
	list, err := c.service.Webhooks(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return c.ShowForm(refusal, "admin_webhooks", "Webhooks", webhooksPage{list, posts.Topics, address, topics})
}

func (c *call) addWebhook() error {
	address, topics := c.Form.Text("url"), c.Form.Values("topics")
	id, secret, err := c.service.AddWebhook(c.Context(), c.actor, address, topics)
	if err != nil {
		return c.showWebhooks(err, address, topics)
	}
	return c.showWebhook(id, secret)
}

// webhookPage is a webhook with what was sent to it.
type webhookPage struct {
	webhook.Webhook
	Deliveries []webhook.Delivery
	Secret     string // shown once
}

func (c *call) webhook() error {
	return c.showWebhook(c.ID("webhookId"), "")
}

func (c *call) showWebhook(id int64, secret string) error {
	list, err := c.service.Webhooks(c.Context(), c.actor)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(w webhook.Webhook) bool { return w.ID == id })
	if i < 0 {
		return pages.NotFound()
	}
	deliveries, err := c.service.Deliveries(c.Context(), c.actor, id, deliveriesShown)
	if err != nil {
		return err
	}
	return c.Show("admin_webhook", "Webhook", webhookPage{list[i], deliveries, secret})
}

func (c *call) changeWebhook() error {
	id := c.ID("webhookId")
	to, notice := "/admin/webhooks/"+itoa(id), ""
	var err error
	switch c.Form.Text("do") {
	case "test":
		notice = "A test is on its way. Load this page again in a moment to see the answer."
		err = c.service.TestWebhook(c.Context(), c.actor, id)
	case "on", "off":
		notice = "Switched " + c.Form.Text("do") + "."
		err = c.service.SetWebhook(c.Context(), c.actor, id, c.Form.Text("do") == "on")
	case "rotate":
		var secret string
		if secret, err = c.service.RotateWebhook(c.Context(), c.actor, id); err == nil {
			return c.showWebhook(id, secret) // on this answer only
		}
	case "delete":
		to, notice = "/admin/webhooks", "The webhook is deleted."
		err = c.service.DeleteWebhook(c.Context(), c.actor, id)
	default:
		err = apierror.New(http.StatusBadRequest, "bad_request", "There is no such change of a webhook.")
	}
	return c.Then(err, to, notice)
}
