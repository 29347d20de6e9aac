package administration

import (
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// deliveriesShown limits the deliveries on the page of a webhook.
const deliveriesShown = 50

// webhookAt returns the path of the page of a webhook.
func webhookAt(id int64) string { return "/admin/webhooks/" + kernel.Itoa(id) }

// webhookList is the list of webhooks.
var webhookList = resource.List[*Call, webhook.Webhook]{
	Path: "/admin/webhooks", Head: listHead("Webhooks", "New webhook", "/admin/webhooks/new"),
	Nouns: [2]string{"webhook", "webhooks"},
	Empty: "There are no webhooks yet. A webhook calls a URL of yours when something happens on the board.",
	Columns: []resource.Column[webhook.Webhook]{
		{Label: "Address", Show: func(w webhook.Webhook) resource.Cell {
			return resource.Cells(resource.Link(webhookAt(w.ID), w.URL), resource.Tag("off", "gone").If(!w.Enabled))
		}},
		{Label: "Topics", Show: func(w webhook.Webhook) resource.Cell { return joined(w.Topics) }},
		{Label: "Waiting", Show: func(w webhook.Webhook) resource.Cell {
			return resource.Text(pages.Plural(w.Pending, "delivery", "deliveries"))
		}},
		{Label: "Switched off", Text: func(w webhook.Webhook) string { return w.DisabledReason }},
	},
	Rows:    resource.Whole(func(c *Call) ([]webhook.Webhook, error) { return c.Admin.Webhooks(c.Context(), c.Actor) }),
	ID:      func(w webhook.Webhook) string { return kernel.Itoa(w.ID) },
	Name:    func(w webhook.Webhook) string { return w.URL },
	Actions: webhookActions[:4],
}

// webhookActions lists the actions on the page of a webhook. The list of webhooks offers the first four of them.
var webhookActions = []resource.Action[*Call]{
	{Name: "test", Label: "Send a test", Done: "sent a test", Do: withID((*admin.Service).TestWebhook, "webhookId")},
	{Name: "on", Label: "Switch on", Done: "switched on", Do: func(c *Call, id string) error {
		return c.Admin.SetWebhook(c.Context(), c.Actor, c.idOf(id, "webhookId"), true)
	}},
	{Name: "off", Label: "Switch off", Done: "switched off", Do: func(c *Call, id string) error {
		return c.Admin.SetWebhook(c.Context(), c.Actor, c.idOf(id, "webhookId"), false)
	}},
	{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/admin/webhooks",
		Confirm: "Their deliveries are deleted too.",
		Do:      withID((*admin.Service).DeleteWebhook, "webhookId"),
	},
	{
		Name: "rotate", Label: "New secret", Confirm: "Calls from now on are signed with the new secret.",
		Make: func(c *Call, _ string) (string, error) {
			return c.Admin.RotateWebhook(c.Context(), c.Actor, c.ID("webhookId"))
		},
	},
}

// newWebhook is the form for a new webhook.
var newWebhook = resource.Form[*Call, webhook.Webhook]{
	New: "/admin/webhooks/new", Submit: "Add",
	Head: formHead("New webhook", "Webhooks", "/admin/webhooks"),
	Load: func(*Call) (*webhook.Webhook, error) { return &webhook.Webhook{Topics: kernel.Topics}, nil },
	Fields: []resource.Field[*Call, webhook.Webhook]{
		{
			Name: "url", Label: "Address", Type: "url", Required: true, Max: 2000,
			Help: "It receives events of all forums, including private ones.",
			Text: func(w *webhook.Webhook) *string { return &w.URL },
		},
		{
			Name: "topics", Label: "Topics", List: func(w *webhook.Webhook) *[]string { return &w.Topics },
			Options: func(*Call, *webhook.Webhook) ([]resource.Choice, error) { return resource.Words(kernel.Topics...), nil },
		},
	},
	Save: func(c *Call, w *webhook.Webhook) (resource.Done, error) {
		id, secret, err := c.Admin.AddWebhook(c.Context(), c.Actor, w.URL, w.Topics)
		return resource.Done{To: webhookAt(id), Notice: "Secret that signs the calls", Secret: secret}, err
	},
}

// deliveries is the table of a webhook's last deliveries.
var deliveries = resource.Table[webhook.Delivery]{
	Title: "Last deliveries", Empty: "Nothing was sent yet. Send a test.", Columns: deliveryColumns,
}

var deliveryColumns = []resource.Column[webhook.Delivery]{
	{Label: "Made", Time: func(d webhook.Delivery) kernel.Moment { return kernel.Moment(d.CreatedAt) }},
	{Label: "Topic", Code: func(d webhook.Delivery) string { return d.Topic }},
	{Label: "State", Show: func(d webhook.Delivery) resource.Cell {
		return resource.Tag(d.State, map[string]string{"failed": "gone", "pending": "held"}[d.State])
	}},
	{Label: "Tries", Count: func(d webhook.Delivery) int64 { return d.Attempts }},
	{Label: "Answer", Text: func(d webhook.Delivery) string { return d.Answer }},
	{Label: "Next try", Show: func(d webhook.Delivery) resource.Cell {
		return resource.Time(kernel.Moment(d.NextAt)).If(d.NextAt != 0)
	}},
}

// webhookForm is the page of a webhook. It has only actions and no fields.
var webhookForm = resource.Form[*Call, webhook.Webhook]{
	Path: "/admin/webhooks/{webhookId}",
	Head: formHead("Webhook", "Webhooks", "/admin/webhooks"),
	About: func(_ *Call, w *webhook.Webhook, h *resource.Head) error {
		h.Links = []resource.Target{{Label: "Reload", Path: webhookAt(w.ID)}}
		if !w.Enabled {
			h.Marks = []resource.Cell{resource.Tag("off", "gone")}
		}
		return nil
	},
	Load: func(c *Call) (*webhook.Webhook, error) {
		list, err := c.Admin.Webhooks(c.Context(), c.Actor)
		w, err := resource.One(list, err, func(w webhook.Webhook) bool { return w.ID == c.ID("webhookId") })
		return &w, err
	},
	Facts: func(_ *Call, w *webhook.Webhook) []resource.Fact {
		created := resource.Cells(resource.Time(kernel.Moment(w.CreatedAt)), resource.Text("by "+
			w.CreatedBy).If(w.CreatedBy != ""))
		list := []resource.Fact{
			{Label: "Address", Cell: resource.Code(w.URL)},
			{Label: "Topics", Cell: joined(w.Topics)},
			{Label: "Made", Cell: created},
			{Label: "Waiting", Cell: resource.Count(w.Pending)},
		}
		if w.DisabledReason != "" {
			list = append(list, resource.Fact{Label: "Switched off", Cell: resource.Text(w.DisabledReason)})
		}
		return list
	},
	Actions: webhookActions, Name: func(w *webhook.Webhook) string { return w.URL },
	Offers: func(_ *Call, w *webhook.Webhook, action string) bool {
		switch action {
		case "on":
			return !w.Enabled
		case "off":
			return w.Enabled
		}
		return true
	},
	Below: func(c *Call, w *webhook.Webhook) ([]resource.Part, error) {
		list, err := c.Admin.Deliveries(c.Context(), c.Actor, w.ID, deliveriesShown)
		return []resource.Part{deliveries.Of(list)}, err
	},
}
