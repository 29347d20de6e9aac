package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
)

func TestTokenForm(t *testing.T) {
	t.Parallel()
	text, lookup, hash := accounts.NewToken()
	gotLookup, gotHash, ok := accounts.ParseToken(text)
	if !ok || gotLookup != lookup || gotHash != hash {
		t.Errorf("%q parses to %q", text, gotLookup)
	}
	for _, bad := range []string{"", "brd_pat_", text[1:], text + "A", strings.ToUpper(text), text[:len(text)-1] + "!", strings.Replace(text, "_pat_", "_pit_", 1), accounts.TokenPrefix + "\xff" + text[len(accounts.TokenPrefix)+1:], accounts.TokenPrefix + "1" + text[len(accounts.TokenPrefix)+1:]} {
		if _, _, ok := accounts.ParseToken(bad); ok {
			t.Errorf("%q is a token", bad)
		}
	}
}
