package ownprices

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{schema.Gateway()}}

// TestPutAndRemove checks which prices can be set one by one, how they are stored, and that their number is bounded.
func TestPutAndRemove(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := keychain.New(db, ring, spending.NewLedger(db, zap.NewNop(), time.Now), zap.NewNop(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		status := func(err error) int {
			if e, ok := apierror.From(err); ok {
				return e.Status
			}
			if err != nil {
				t.Fatal(err)
			}
			return 200
		}
		for _, c := range []struct {
			name, price string
			status      int
			stored      string
		}{
			{"openai/*", `{"discount":15}`, 200, `{"discount":15}`},
			{"openai/gpt-5.4-nano", `{"output": 0.30, "input":0.04, "calls":{"web_search":0.01}}`, 200, `{"calls":{"web_search":0.01},"input":0.04,"output":0.30}`},
			{"openai/gpt-5.4-nano", `{"discount":100}`, 200, `{"discount":100}`},
			{"openai/none", `{"discount":1}`, 404, ""},
			{"openai", `{"discount":1}`, 400, ""},
			{"openai/*", `{"discount":101}`, 400, ""},
			{"openai/*", `{"discount":1,"input":1}`, 400, ""},
			{"openai/*", `{"input":1}`, 400, ""},
			{"openai/*", `{"input":-1,"output":1}`, 400, ""},
			{"openai/*", `{"input":1,"output":1,"inputs":1}`, 400, ""},
			{"openai/*", `[]`, 400, ""},
		} {
			e, err := Put(t.Context(), s, catalog.Embedded(), c.name, json.RawMessage(c.price))
			if status(err) != c.status || e.Text != c.stored {
				t.Errorf("%s %s: %q, error %v", c.name, c.price, e.Text, err)
			}
		}
		prices, _, err := Read(t.Context(), db)
		if err != nil || len(prices) != 2 || prices["openai/*"].Discount != 15 || prices["openai/gpt-5.4-nano"].Discount != 100 {
			t.Errorf("%v, error %v", prices, err)
		}
		if err := Remove(t.Context(), s, "openai/gpt-5.4-nano"); err != nil {
			t.Error(err)
		}
		if err := Remove(t.Context(), s, "openai/gpt-5.4-nano"); status(err) != 404 {
			t.Errorf("removing it again: %v", err)
		}
		entries, err := s.Audit(t.Context(), 0, 10)
		if err != nil || len(entries) != 4 || entries[0].Action != "price.removed" {
			t.Errorf("%v, error %v", entries, err)
		}

		err = db.Write(t.Context(), func(c store.Conn) error {
			for i := range MaxPrices - 1 {
				if err := write(c, Entry{fmt.Sprintf("groq/%d*", i), `{"discount":1}`}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Put(t.Context(), s, catalog.Embedded(), "xai/*", json.RawMessage(`{"discount":1}`)); status(err) != 409 {
			t.Errorf("one too many: %v", err)
		}
		if _, err := Put(t.Context(), s, catalog.Embedded(), "openai/*", json.RawMessage(`{"discount":2}`)); err != nil {
			t.Errorf("replacing one of many: %v", err)
		}
	})
}

// TestPriceReadsBack checks that a price is written in the form in which it is read.
func TestPriceReadsBack(t *testing.T) {
	t.Parallel()
	for _, p := range catalog.Embedded().Providers() {
		for _, m := range catalog.Embedded().Models(p.Code) {
			if !m.Price.Known {
				continue
			}
			text, err := json.Marshal(map[string]*catalog.Price{m.EntryID(): &m.Price})
			if err != nil {
				t.Fatal(err)
			}
			read, err := catalog.ParsePrices(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if a, b := fmt.Sprint(read[m.EntryID()].Price), fmt.Sprint(m.Price); a != b {
				t.Errorf("%s is read as %s, want %s", text, a, b)
			}
		}
	}
}
