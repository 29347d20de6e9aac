package scriptedmodel

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// The models in the model list.
const (
	modelScripted = "scripted"
	modelReasoner = "scripted-reasoner" // sends a line of reasoning first
)

// modelList holds the encoded answers of the model routes.
type modelList struct {
	list []byte
	byID map[string][]byte
}

// newModelList returns the encoded models. created is their creation time in Unix seconds.
func newModelList(created int64) modelList {
	m := modelList{byID: make(map[string][]byte)}
	m.list = append(m.list, `{"object":"list","data":[`...)
	for i, id := range []string{modelScripted, modelReasoner} {
		entry := jsontext.AppendQuoted([]byte(`{"id":`), id)
		entry = append(entry, `,"object":"model","created":`...)
		entry = strconv.AppendInt(entry, created, 10)
		entry = append(entry, `,"owned_by":"tollgate"}`...)
		m.byID[id] = entry
		if i > 0 {
			m.list = append(m.list, ',')
		}
		m.list = append(m.list, entry...)
	}
	m.list = append(m.list, `]}`...)
	return m
}

// modelByID answers GET /models/{id}; a script after the id is ignored.
func (c *call) modelByID(id string) {
	id, _, _ = strings.Cut(id, "?")
	entry, ok := c.srv.models.byID[id]
	if !ok {
		e := notFound("the model %q does not exist; the models are %s and %s", shorten(id, 100), modelScripted, modelReasoner)
		e.Code = "model_not_found"
		c.fail(e.With("model"))
		return
	}
	c.json(http.StatusOK, entry)
}

// probe answers / for clients that check whether the server runs.
func (c *call) probe() {
	if !c.allowMethod(http.MethodGet, http.MethodHead) {
		return
	}
	c.sendHeader(http.StatusOK, "text/plain; charset=utf-8", int64(len(probeText)))
	c.send([]byte(probeText))
	c.complete = !c.gone
}
