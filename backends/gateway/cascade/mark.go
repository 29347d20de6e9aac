package cascade

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	markPrefix = "tollgate-"
	maxMark    = 64
	// maxHops is how many gateways a request may have passed.
	maxHops = 16
)

// Mark names a deployment in the field Via (RFC 9110, section 7.6.3) of the requests
// that it sends to its users' own servers. One that carries the mark already has come
// around, since a user can point a model at the gateway itself.
type Mark struct{ names []string }

// NewMark makes a mark of ids that all nodes of a deployment share: the first is sent,
// any is recognised. Without ids it is the process's own.
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

// refuse is the error of a request that has come around, or has passed too many gateways.
func (m *Mark) refuse(via []string) error {
	if m == nil || len(via) == 0 {
		return nil
	}
	passed := hops(via)
	if len(passed) <= maxHops && !slices.ContainsFunc(passed, func(name string) bool { return slices.Contains(m.names, name) }) {
		return nil
	}
	return loopDetected()
}

// via is the field for a request to a server; empty: none. A user's own server gets the
// mark, any other one only behind the marks of other gateways: they have to see theirs
// again. Of what else stands in the client's Via nothing goes along.
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

// hops are the gateways in a Via, at most one more than are allowed.
func hops(via []string) (passed []string) {
	for _, line := range via {
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

// codeLoop is how a gateway that is asked by itself answers.
const codeLoop = "loop_detected"

func loopDetected() error {
	return &apierror.Error{
		Status: http.StatusLoopDetected, Code: codeLoop, NoRetry: true,
		Message: "the base URL of a custom model leads back to this gateway: give it the address of the model's own server",
	}
}
