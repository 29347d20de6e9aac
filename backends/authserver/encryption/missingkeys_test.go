package encryption_test

import (
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// TestFindMissing checks that texts that cannot be opened are counted by their missing key.
func TestFindMissing(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		const rows, table = 40, "authserver_keys"
		remote := far(t, transittest.New(t))
		set := func(query, sealed, kid string) {
			t.Helper()
			if err := k.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec(query, sealed, kid)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, k, master(t, one, ""), rows)
		for kid, e := range map[string]encryption.Encryptor{"row-0000": master(t, two, ""), "row-0001": remote} {
			sealed, err := e.Seal(t.Context(), []byte("x"), encryption.Place(table, kid, "private"))
			if err != nil {
				t.Fatal(err)
			}
			set("UPDATE authserver_keys SET private = ? WHERE kid = ?", sealed, kid)
		}
		set("UPDATE authserver_keys SET private = ? WHERE kid = ?", "broken", "row-0002")
		set("UPDATE authserver_keys SET private = ? WHERE kid = ?", "", "row-0003") // an empty text is not counted

		ofOne, ofTwo := encryption.Missing{Table: table, Key: "630dcd29", Rows: rows - 4}, encryption.Missing{Table: table, Key: "72dbb733", Rows: 1}
		ofFar, ofNone := encryption.Missing{Table: table, Key: encryption.KeyManagement, Rows: 1}, encryption.Missing{Table: table, Rows: 1}
		for name, test := range map[string]struct {
			e    encryption.Encryptor
			want []encryption.Missing
		}{
			"none":               {nil, []encryption.Missing{ofOne, ofTwo, ofNone, ofFar}},
			"the newer key":      {master(t, two, ""), []encryption.Missing{ofOne, ofNone, ofFar}},
			"both keys":          {master(t, two, one), []encryption.Missing{ofNone, ofFar}},
			"a server":           {remote, []encryption.Missing{ofOne, ofTwo, ofNone}},
			"a server and a key": {encryption.Chain(remote, master(t, one, "")), []encryption.Missing{ofTwo, ofNone}},
		} {
			if got, err := encryption.FindMissing(t.Context(), k.Server, test.e, column); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: %+v, error %v, want %+v", name, got, err, test.want)
			}
		}
	})
}
