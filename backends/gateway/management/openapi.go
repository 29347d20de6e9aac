package management

import (
	_ "embed"
	"encoding/json"

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

// OpenAPI returns the OpenAPI 3.1 document of the gateway.
func (s *Service) OpenAPI() ([]byte, error) {
	var extra map[string]json.RawMessage
	if err := json.Unmarshal(inference, &extra); err != nil {
		return nil, err
	}
	return rest.Document{
		Title: "Tollgate model gateway", Version: "1",
		Description: "One endpoint that speaks three model APIs over a cascade of providers, and the management of its users' keys, models and preferences.",
		Components:  components, Security: "user", Extra: extra,
	}.OpenAPI(s.Routes())
}
