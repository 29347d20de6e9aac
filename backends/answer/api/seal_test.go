package api_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
)

// TestReencrypt checks that stored texts are sealed, and that the old key is no longer needed after they were
// sealed with a new one.
func TestReencrypt(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		key := func(letter byte) []byte { return bytes.Repeat([]byte{letter}, keyring.MasterKeySize) }
		var ring keyring.Keyring
		use := func(keys ...[]byte) {
			t.Helper()
			var err error
			if ring, err = keyring.NewAES(keys...); err != nil {
				t.Fatal(err)
			}
		}
		use(key('a'))
		r := newRig(t, k, func(o *api.Options) { o.Keyring = func() (keyring.Keyring, error) { return ring, nil } })
		ids := make([]string, 0, 3)
		for range 3 {
			ids = append(ids, gjson.Get(r.do("POST", "/v1/answer", asks("What was revenue?")).Body.String(), "result.id").Str)
		}
		r.do("POST", "/v1/answer", asks("reason ServiceUnavailable")) // nothing is stored of it
		var stored, sealedCount int
		if err := k.Read(t.Context(), func(c kernel.Conn) error {
			if err := c.Row("SELECT count(*) FROM answer_answers").Scan(&stored); err != nil {
				return err
			}
			return c.Row("SELECT count(*) FROM answer_answers WHERE body LIKE 'sealed:%' AND trace LIKE 'sealed:%' AND body NOT LIKE '%evenue%' AND trace NOT LIKE '%evenue%'").Scan(&sealedCount)
		}); err != nil || stored != 4 || sealedCount != 3 {
			t.Fatalf("%d stored, %d sealed, error %v", stored, sealedCount, err)
		}
		reseal := func(resealed, unreadable int) {
			t.Helper()
			want := sealed.Result{Checked: 6, Total: 6, Resealed: resealed, Unreadable: unreadable}
			if result, err := api.Sealed.Reseal(t.Context(), k.DB, ring, zap.NewNop(), nil); err != nil || result != want {
				t.Errorf("%+v, error %v, want %+v", result, err, want)
			}
		}
		reseal(0, 0)
		use(key('b'), key('a'))
		reseal(6, 0)
		reseal(0, 0)
		use(key('b'))
		for _, id := range ids {
			if w := r.do("GET", "/v1/answers/"+id, ""); w.Code != 200 || gjson.Get(w.Body.String(), "result.answer").Str == "" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if trace, err := r.Trace(t.Context(), id); err != nil || string(trace.Trace) != `{"stages":3}` {
				t.Errorf("%+v %v", trace, err)
			}
		}
		// A text that was sealed for one answer cannot be opened as that of another one.
		if err := k.Write(t.Context(), func(c kernel.Conn) error {
			_, err := c.Exec("UPDATE answer_answers SET body = (SELECT body FROM answer_answers WHERE id = ?) WHERE id = ?", ids[0], ids[1])
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if w := r.do("GET", "/v1/answers/"+ids[1], ""); w.Code != 503 || strings.Contains(w.Body.String(), "evenue") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		use(key('c'))
		reseal(0, 6)
	})
}
