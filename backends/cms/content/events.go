package content

import (
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// Event is the payload of a webhook delivery about a page.
type Event struct {
	ID       int64         `json:"id"`
	Path     string        `json:"path"`
	Title    string        `json:"title"`
	Template string        `json:"template"`
	Status   string        `json:"status"`
	Version  int64         `json:"version"`
	Modified kernel.Moment `json:"modified"`
	By       int64         `json:"modified_by"`
}

// notify queues an event about page for the webhooks, in the transaction of c.
func (p *Content) notify(c kernel.Conn, topic string, page *Page) error {
	return p.Emit(c, topic, Event{
		page.ID, page.Path, page.Title, page.Template, page.Status, page.Version, page.Modified,
		page.ModifiedBy,
	})
}
