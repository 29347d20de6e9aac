package stored

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// alice is the owner of most stored objects in the tests.
const alice = "user a"

// node is a service with its own clock, on a database that it may share with others.
type node struct {
	*Service
	t       *testing.T
	clock   *schematest.Clock
	options *Options
}

func startNode(t *testing.T, p schematest.Place) *node {
	t.Helper()
	db := p.Open(t)
	testenv.Open(t, db)
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, clock: new(schematest.Clock), options: new(Options{}.WithDefaults())}
	n.Service = New(db, ring, zap.NewNop(), func(string, string, int) {}, n.clock.Now)
	t.Cleanup(func() { _ = n.Close(context.WithoutCancel(t.Context())) })
	return n
}

// answerOf returns a response object as an upstream sends it.
func answerOf(item, text string) string {
	return `{"id":"resp_up","object":"response","created_at":1,"status":"completed","model":"m","store":false,"output":[
		{"id":"rs_` + item + `","type":"reasoning","summary":[]},
		{"id":"msg_` + item + `","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + text + `"}]}],"usage":null}`
}

// begin begins a turn, which must succeed.
func (n *node) begin(body string) (*Turn, string) {
	n.t.Helper()
	turn, text, err := n.Begin(n.t.Context(), alice, n.options, []byte(body))
	if err != nil {
		n.t.Fatalf("%s: %v", body, err)
	}
	return turn, string(text)
}

// checkRefused checks that a request is refused with a status, and with an error that contains text.
func (n *node) checkRefused(owner, body string, status int, text string) {
	n.t.Helper()
	_, _, err := n.Begin(n.t.Context(), owner, n.options, []byte(body))
	if e := apiErrorWith(n.t, err, status); !strings.Contains(e.Error(), text) {
		n.t.Errorf("%s: %v, want %s", body, e, text)
	}
}

// apiErrorWith returns an error as the API error with the given status.
func apiErrorWith(t *testing.T, err error, status int) *apierror.Error {
	t.Helper()
	e, ok := apierror.From(err)
	if !ok || e.Status != status {
		t.Fatalf("error %v, want a %d", err, status)
	}
	return e
}

// turn sends a request, answers it with text, and returns the response that the client gets.
func (n *node) turn(body, item, text string) gjson.Result {
	n.t.Helper()
	turn, _ := n.begin(body)
	turn.KeepItem("rs_"+item, []byte(`{"id":"rs_`+item+`","type":"reasoning","summary":[],"encrypted_content":"STATE"}`))
	return gjson.Parse(answered(n.t, turn, answerOf(item, text)))
}

// answered writes an unstreamed response through a turn's recorder, and returns the body that the client gets.
func answered(t *testing.T, turn *Turn, object string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := turn.Record(w, memory.Share{})
	r.Header().Set("Content-Type", "application/json")
	r.WriteHeader(http.StatusOK)
	if _, err := r.Write([]byte(object)); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if got := w.Header().Get("Content-Length"); got != fmt.Sprint(w.Body.Len()) {
		t.Errorf("Content-Length is %s of %d", got, w.Body.Len())
	}
	return w.Body.String()
}

// call sends a request to the API of stored objects, and returns the status and the body of the answer.
func (n *node) call(owner, request, body string) (int, gjson.Result) {
	n.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(n.t.Context(), method, "/v1"+target, http.NoBody)
	e, _ := Find(method, strings.TrimPrefix(r.URL.Path, "/v1"))
	if e == nil {
		n.t.Fatalf("nothing answers %s", request)
	}
	w := httptest.NewRecorder()
	if err := n.Serve(w, r, e, owner, n.options, []byte(body)); err != nil {
		apiErr, ok := apierror.From(err)
		if !ok {
			n.t.Fatalf("%s: %v", request, err)
		}
		text, err := json.Marshal(apiErr)
		if err != nil {
			n.t.Fatal(err)
		}
		return apiErr.Status, gjson.ParseBytes(text)
	}
	if kind := w.Header().Get("Content-Type"); strings.HasPrefix(kind, "text/event-stream") {
		return w.Code, gjson.Result{Type: gjson.String, Str: w.Body.String()}
	}
	return w.Code, gjson.Parse(w.Body.String())
}

// checkAnswer checks the value that the API's answer has at a path.
func (n *node) checkAnswer(request, body, path, want string) {
	n.t.Helper()
	status, answer := n.call(alice, request, body)
	if got := answer.Get(path).Raw; status != http.StatusOK || got != want {
		n.t.Errorf("%s: %d, %s is %s, want %s: %s", request, status, path, got, want, answer.Raw)
	}
}

// checkNotFound checks that the API answers a request with 404.
func (n *node) checkNotFound(owner, request string) {
	n.t.Helper()
	if status, answer := n.call(owner, request, ""); status != http.StatusNotFound {
		n.t.Errorf("%s: %d, want a 404: %s", request, status, answer.Raw)
	}
}

// rows counts the rows of a table.
func (n *node) rows(table string) (rows int) {
	n.t.Helper()
	err := n.db.Read(n.t.Context(), func(c store.Conn) error { return c.Row(`SELECT count(*) FROM ` + table).Scan(&rows) })
	if err != nil {
		n.t.Fatal(err)
	}
	return rows
}

func (n *node) exec(statement string, args ...any) {
	n.t.Helper()
	err := n.db.Write(n.t.Context(), func(c store.Conn) error {
		_, err := c.Exec(statement, args...)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// work starts a background response whose handler is gives. The channel done is closed when the work is over.
func (n *node) work(body string, gives func(ctx context.Context, w http.ResponseWriter) error) (id string, done chan struct{}) {
	n.t.Helper()
	turn, _ := n.begin(body)
	done = make(chan struct{})
	object, err := n.Start(n.t.Context(), turn, "m", []hub.Param{{Name: "metadata", Value: "{}"}}, gives, func() { close(done) })
	if err != nil {
		n.t.Fatal(err)
	}
	if got := gjson.GetBytes(object, "status").Str; got != statusQueued {
		n.t.Errorf("the response begins as %s", got)
	}
	return gjson.GetBytes(object, "id").Str, done
}

// whole returns a handler that answers with an unstreamed response.
func whole(item, text string) func(context.Context, http.ResponseWriter) error {
	return func(_ context.Context, w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, err := w.Write([]byte(answerOf(item, text)))
		return err
	}
}

// waits returns a handler that calls next once release is closed. If the context ends first, the handler returns the
// cause.
func waits(release <-chan struct{}, next func(context.Context, http.ResponseWriter) error) func(context.Context, http.ResponseWriter) error {
	return func(ctx context.Context, w http.ResponseWriter) error {
		select {
		case <-release:
			return next(ctx, w)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// becomes waits until a response has a status.
func (n *node) becomes(id, status string) gjson.Result {
	n.t.Helper()
	var answer gjson.Result
	schematest.Eventually(n.t, id+" is "+status, func() bool {
		_, answer = n.call(alice, "GET /responses/"+id, "")
		return answer.Get("status").Str == status
	})
	return answer
}
