package scriptedmodel

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const (
	modelScripted = "scripted"
	modelReasoner = "scripted-reasoner"
)

// modelList holds the encoded answers of the model routes.
type modelList struct {
	list []byte
	byID map[string][]byte
}

func newModelList(created int64) modelList {
	m := modelList{byID: make(map[string][]byte)}
	m.list = append(m.list, `{"object":"list","data":[`...)
	for i, id := range []string{modelScripted, modelReasoner} {
		one := jsontext.AppendQuoted([]byte(`{"id":`), id)
		one = append(one, `,"object":"model","created":`...)
		one = strconv.AppendInt(one, created, 10)
		one = append(one, `,"owned_by":"tollgate"}`...)
		m.byID[id] = one
		if i > 0 {
			m.list = append(m.list, ',')
		}
		m.list = append(m.list, one...)
	}
	m.list = append(m.list, `]}`...)
	return m
}

// oneModel answers GET /models/{id}; a script after the id is ignored.
func (c *call) oneModel(id string) {
	id, _, _ = strings.Cut(id, "?")
	one, ok := c.srv.models.byID[id]
	if !ok {
		e := notFound("the model %q does not exist; the models are %s and %s", shorten(id, 100), modelScripted, modelReasoner)
		e.Code = "model_not_found"
		c.fail(e.With("model"))
		return
	}
	c.json(http.StatusOK, one)
}

// probe answers / for clients that check whether the server runs.
func (c *call) probe() {
	if !c.method(http.MethodGet, http.MethodHead) {
		return
	}
	c.begin(http.StatusOK, "text/plain; charset=utf-8", int64(len(probeText)))
	c.send([]byte(probeText))
	c.complete = !c.gone
}
