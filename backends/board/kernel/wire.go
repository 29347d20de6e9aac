package kernel

import (
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Mount is the path of the API below the base URL.
const Mount = "/api/v1"

// Objects defines how the API reads JSON bodies: the maximum size, in bytes, and the codes of its errors.
var Objects = rest.Objects{MaxBytes: 256 << 10, Code: "invalid_body", TooLarge: "payload_too_large"}

// BadBody returns the error for a request whose JSON body is malformed. field is the field at fault; reason is a word
// for programs, message a sentence for people.
func BadBody(field, reason, message string) error { return Objects.Refuse(field, reason, message) }

// PurgeBatch is the number of rows that a purge deletes in one transaction. It is small because other writers wait for
// the transaction.
const PurgeBatch = 500

// MaxPage is the maximum number of elements on a page of a list.
const MaxPage = 100
