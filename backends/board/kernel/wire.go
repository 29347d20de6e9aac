package kernel

import "github.com/tollgate-gateway/tollgate/internal/rest"

// Mount is the path of the API, behind the base URL.
const Mount = "/api/v1"

// Objects is how the API takes JSON bodies.
var Objects = rest.Objects{Most: 256 << 10, Code: "invalid_body", TooLarge: "payload_too_large"}

// BadBody refuses the body of a request.
func BadBody(field, reason, message string) error { return Objects.Refuse(field, reason, message) }

// PurgeBatch is how many rows are removed in one transaction: others wait for it.
const PurgeBatch = 500

// PageMost is how many elements a page of a list has at most.
const PageMost = 100
