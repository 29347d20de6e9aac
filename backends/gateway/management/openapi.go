package management

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// components has the schemas that Routes names.
//
//go:embed schemas.json
var components []byte

// inference describes the model surfaces, which are served beside this API.
//
//go:embed inference.json
var inference []byte

// OpenAPI is the document of the gateway, OpenAPI 3.1. It is made once.
func (s *Service) OpenAPI() ([]byte, error) {
	s.document.once.Do(func() {
		var extra map[string]json.RawMessage
		if s.document.err = json.Unmarshal(inference, &extra); s.document.err != nil {
			return
		}
		s.document.text, s.document.err = rest.Document{
			Title: "Tollgate model gateway", Version: "1",
			Description: "One endpoint that speaks three model APIs over a cascade of providers, and the management of its users' keys, models and preferences.",
			Components:  components, Security: "user", Extra: extra,
		}.OpenAPI(s.Routes())
	})
	return s.document.text, s.document.err
}

// document is the OpenAPI document once it was made.
type document struct {
	once sync.Once
	text []byte
	err  error
}

func (s *Service) openAPI(*rest.Call) (any, error) {
	text, err := s.OpenAPI()
	return rest.Raw{Type: "application/json", Data: text}, err
}
