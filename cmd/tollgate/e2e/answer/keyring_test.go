package answer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAnswersReencrypted checks that stored answers and traces are sealed, that they are sealed again with a new master
// key, and that the old key can then be removed.
func TestAnswersReencrypted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, quick)
		a := d.ask(asked)
		id := gjson.Get(a.Body, "result.id").Str
		if outcome(a) != "Answered" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if n := d.count("SELECT COUNT(*) FROM answer_answers WHERE body LIKE 'sealed:%' AND trace LIKE 'sealed:%' AND body NOT LIKE '%Quillmarsh%'"); n != 1 {
			t.Errorf("%d are sealed", n)
		}
		d.Stop()
		d.Env = append(d.Env, "NEW_KEY="+strings.Repeat("0b", 32))
		ring := func(text string) {
			d.Configure(e2e.Swap(t, d.config, "\ttollgate {\n", "\ttollgate {\n\t\tkeyring "+text+"\n"))
		}
		ring("aes {env.NEW_KEY} {file.data/tollgate.key}")
		for _, resealed := range []int64{2, 0} {
			if out := d.Tool("keyring", "re-encrypt", "--json"); gjson.Get(out, "answer.resealed").Int() != resealed || gjson.Get(out, "answer.unreadable").Int() != 0 {
				t.Errorf("%s", out)
			}
		}
		ring("aes {env.NEW_KEY}")
		d.begin()
		if a := d.do(http.MethodGet, "/v1/answers/"+id, ""); outcome(a) != "Answered" || !strings.Contains(a.Body, "Quillmarsh") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if trace, err := d.Admin(http.MethodGet, "/admin/answer/traces/"+id, "", ""); err != nil || !gjson.Get(trace, "trace.stages").IsArray() {
			t.Errorf("%s %v", trace, err)
		}
		d.Stop()
	})
}
