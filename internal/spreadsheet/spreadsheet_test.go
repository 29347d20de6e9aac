package spreadsheet_test

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/spreadsheet"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"": "", "ann": "ann", "a=b": "a=b", "7": "7", "-7.5": "-7.5", "-1+2": "'-1+2", "=1": "'=1", "+7": "'+7", "@sum": "'@sum", "\tx": "'\tx", "\rx": "'\rx", "-": "'-",
	} {
		if got := spreadsheet.Safe(cell); got != want {
			t.Errorf("%q is written as %q, want %q", cell, got, want)
		}
	}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := spreadsheet.NewWriter(&out)
	row := []string{"=cmd", `say "hi"`, "two\nlines"}
	if err := w.Write(row); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "'=cmd,\"say \"\"hi\"\"\",\"two\r\nlines\"\r\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if row[0] != "=cmd" {
		t.Error("the caller's row is changed")
	}
}
