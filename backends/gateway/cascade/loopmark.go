package cascade

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	markPrefix = "tollgate-"
	maxMark    = 64
	// maxHops is the largest number of gateways that a request may have passed.
	maxHops = 16
)

// Mark names a deployment in the Via field (RFC 9110, section 7.6.3) of the requests that it sends to its users' own
// servers. A user can point a model at the gateway itself. A request that already carries the mark has come around in
// such a loop.
type Mark struct{ names []string }

// NewMark returns a mark made of ids that all nodes of a deployment share. The mark of the first id is sent; the marks
// of all ids are recognised. Without ids the mark is random and known to this process only.
func NewMark(ids ...[]byte) *Mark {
	m := new(Mark)
	for _, id := range ids {
		m.names = append(m.names, markPrefix+hex.EncodeToString(id[:min(8, len(id))]))
	}
	if len(m.names) == 0 {
		m.names = []string{markPrefix + strings.ToLower(rand.Text()[:16])}
	}
	return m
}

// checkLoop returns an error for a request that has come around in a loop or has passed too many gateways. A nil Mark
// refuses nothing.
func (m *Mark) checkLoop(viaFields []string) error {
	if m == nil || len(viaFields) == 0 {
		return nil
	}
	passed := hops(viaFields)
	looped := slices.ContainsFunc(passed, func(name string) bool { return slices.Contains(m.names, name) })
	switch {
	case looped:
		return loopDetected()
	case len(passed) > maxHops:
		return loopError(fmt.Sprintf("the request has passed more than %d gateways: "+
			"correct the base URL of the custom model that leads from one gateway to the next", maxHops))
	}
	return nil
}

// via returns the Via field for a request to a server, or an empty string for no field. received are the client's Via
// fields. custom is set for a user's own server, which always gets the mark. Any other server gets the mark only if
// received has marks of other gateways, which must recognise their own marks. Nothing else of received is passed on.
func (m *Mark) via(received []string, custom bool) string {
	if m == nil || (!custom && len(received) == 0) {
		return ""
	}
	passed := hops(received)
	if !custom && len(passed) == 0 {
		return ""
	}
	return "1.1 " + strings.Join(append(passed, m.names[0]), ", 1.1 ")
}

// hops returns the marks of gateways in Via fields, at most maxHops+1.
func hops(viaFields []string) (passed []string) {
	for _, line := range viaFields {
		for member := range strings.SplitSeq(line, ",") {
			_, name, _ := strings.Cut(strings.TrimSpace(member), " ")
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ") // a comment may follow
			if !strings.HasPrefix(name, markPrefix) || len(name) > maxMark {
				continue
			}
			if passed = append(passed, name); len(passed) > maxHops {
				return passed
			}
		}
	}
	return passed
}

// codeLoop is the error code of a gateway that receives its own request.
const codeLoop = "loop_detected"

// loopDetected returns the error with status 508 for a request that has come around in a loop.
func loopDetected() error {
	return loopError("the base URL of a custom model leads back to this gateway: " +
		"give it the address of the model's own server")
}

// loopError returns an error with status 508 and a message.
func loopError(message string) error {
	return &apierror.Error{Status: http.StatusLoopDetected, Code: codeLoop, NoRetry: true, Message: message}
}
