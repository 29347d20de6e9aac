package workbook

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// save returns the file of a workbook that a function fills.
func save(t testing.TB, fill func(f *excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer func() { _ = f.Close() }()
	fill(f)
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// must stops a test of which a step fails.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

var wide = Limits{Unpacked: 64 << 20, Rows: 1000, Columns: 100}

func TestRead(t *testing.T) {
	t.Parallel()
	file := save(t, func(f *excelize.File) {
		money, percent, day := "#,##0_);(#,##0)", "0.0%", 14
		styles := make([]int, 3)
		for i, style := range []*excelize.Style{{CustomNumFmt: &money}, {CustomNumFmt: &percent}, {NumFmt: day}} {
			id, err := f.NewStyle(style)
			must(t, err)
			styles[i] = id
		}
		must(t,
			f.SetSheetName("Sheet1", "Income"),
			f.SetSheetRow("Income", "A1", &[]any{"In  millions", "Year ended"}),
			f.MergeCell("Income", "B1", "C1"),
			f.SetSheetRow("Income", "A2", &[]any{"", time.Date(2019, 9, 28, 0, 0, 0, 0, time.UTC), 2018}),
			f.SetCellStyle("Income", "B2", "B2", styles[2]),
			f.SetSheetRow("Income", "A5", &[]any{"Net sales", 1496500.4, -2000}),
			f.SetCellStyle("Income", "B5", "C5", styles[0]),
			f.SetSheetRow("Income", "A6", &[]any{"Margin", 0.125, "#DIV/0!"}),
			f.SetCellStyle("Income", "B6", "B6", styles[1]),
		)
		for _, name := range []string{"Workings", "Empty"} {
			_, err := f.NewSheet(name)
			must(t, err)
		}
		must(t, f.SetCellValue("Workings", "A1", "secret"), f.SetSheetVisible("Workings", false))
	})
	sheets, err := Read(bytes.NewReader(file), wide)
	if err != nil || len(sheets) != 1 || sheets[0].Name != "Income" {
		t.Fatalf("%+v, %v", sheets, err)
	}
	want := [][]string{{"In millions", "Year ended"}, {"", "2019-09-28", "2018"}, nil, {"Net sales", "1,496,500", "(2,000)"}, {"Margin", "12.5%", ""}}
	if !slices.EqualFunc(sheets[0].Rows, want, slices.Equal) {
		t.Errorf("%q", sheets[0].Rows)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	rows := save(t, func(f *excelize.File) {
		for _, cell := range []string{"A1", "A2", "A9000", "D3"} {
			must(t, f.SetCellValue("Sheet1", cell, strings.Repeat("x", 100)))
		}
	})
	locked := excelize.NewFile()
	defer func() { _ = locked.Close() }()
	var protected bytes.Buffer
	must(t, locked.Write(&protected, excelize.Options{Password: "correct horse"}))
	for name, test := range map[string]struct {
		file   []byte
		limits Limits
		want   string
	}{
		"nothing":         {nil, wide, "not an Excel workbook"},
		"text":            {[]byte("a,b\n1,2\n"), wide, "not an Excel workbook"},
		"password":        {protected.Bytes(), wide, "it is protected by a password"},
		"cut off":         {rows[:len(rows)/2], wide, "not an Excel workbook"},
		"unpacked size":   {rows, Limits{Unpacked: 500, Rows: 10, Columns: 10}, "the workbook is too large: it has more than 0 MiB when unpacked"},
		"too many rows":   {rows, Limits{Unpacked: wide.Unpacked, Rows: 3, Columns: 10}, `sheet "Sheet1": the workbook is too large: it has too many rows`},
		"too many cells":  {rows, Limits{Unpacked: wide.Unpacked, Rows: 10, Columns: 3}, "row 3 has more than 3 cells"},
		"as many as that": {rows, Limits{Unpacked: wide.Unpacked, Rows: 4, Columns: 4}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(bytes.NewReader(test.file), test.limits)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// FuzzRead: whatever a file holds, it is read within its limits or refused, and nothing panics.
func FuzzRead(f *testing.F) {
	f.Add(save(f, func(w *excelize.File) { must(f, w.SetSheetRow("Sheet1", "A1", &[]any{"a", 1, true})) }))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, file []byte) {
		sheets, err := Read(bytes.NewReader(file), Limits{Unpacked: 1 << 20, Rows: 100, Columns: 20})
		if err != nil {
			return
		}
		rows := 0
		for _, sheet := range sheets {
			for _, row := range sheet.Rows {
				if len(row) > 0 {
					rows++
				}
			}
		}
		if rows > 100 {
			t.Errorf("%d rows", rows)
		}
	})
}
