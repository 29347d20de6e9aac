package sqldump

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func open(t testing.TB, text string) *Dump {
	t.Helper()
	name := filepath.Join(t.TempDir(), "dump.sql")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func every(string) bool { return true }

const table = "CREATE TABLE `t` (\n  `id` int(10) unsigned NOT NULL DEFAULT '1,2)',\n  `name` varchar(20) COLLATE utf8mb4_bin DEFAULT ')',\n" +
	"  PRIMARY KEY (`id`),\n  KEY `n` (`name`(10),`id`)\n) ENGINE=InnoDB;\n"

func TestScan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ dump, want string }{
		"as mysqldump writes it": {
			"\ufeff-- MySQL dump; it's a comment\n/*!40101 SET NAMES utf8mb4 */;\nDROP TABLE IF EXISTS `t`;\n" + table +
				"LOCK TABLES `t` WRITE;\n/*!40000 ALTER TABLE `t` DISABLE KEYS */;\nINSERT INTO `t` VALUES (1,'a'),(2,NULL);\nUNLOCK TABLES;\n-- end",
			"12: t id=1 name=a|12: t id=2 name=",
		},
		"with columns, in another order": {table + "INSERT INTO `t` (`name`, `id`) VALUES\n('x', 3),\n('y', 4);", "8: t id=3 name=x|9: t id=4 name=y"},
		"escapes":                        {table + `INSERT INTO t VALUES (1,'it''s \'a\' \\ "b" \n\%\_\q'),(2,"two ""quotes""");`, `7: t id=1 name=it's 'a' \ "b" ` + "\n" + `\%\_q|7: t id=2 name=two "quotes"`},
		"other forms of values":          {table + "INSERT IGNORE INTO `db`.`t` VALUES (-5,0x4142),(6, _binary 'x'),(7,x'43'),(8,_utf8mb4'y');", "7: t id=-5 name=AB|7: t id=6 name=x|7: t id=7 name=C|7: t id=8 name=y"},
		"no CREATE TABLE":                {"REPLACE INTO t (id, name) VALUES (1, 'a') ON DUPLICATE KEY UPDATE name = 'b;';INSERT INTO t (id, name) VALUE (2, 'b')\n;", "1: t id=1 name=a|1: t id=2 name=b"},
		"invalid UTF-8":                  {table + "INSERT INTO t VALUES (1,'a\xffb');", "7: t id=1 name=a\ufffdb"},
		"routines":                       {"DELIMITER ;;\nCREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 'x'; END ;;\nDELIMITER ;\n" + table + "INSERT INTO t VALUES (1,'a');", "10: t id=1 name=a"},
		"comments within":                {"CREATE TABLE IF NOT EXISTS t (id int, /* ; */ name text -- it's\n);INSERT INTO t VALUES (1, # one\n 'a');", "2: t id=1 name=a"},
		"other tables":                   {"CREATE TABLE skipped (a int);INSERT INTO skipped VALUES (1),('(;');" + table + "INSERT INTO t VALUES (1,'a');", "7: t id=1 name=a"},
		"empty":                          {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, test.dump)
			var got, rows []string
			var places []Place
			show := func(r *Row) string {
				return fmt.Sprintf("%s id=%d name=%s", r.Table, r.Int("id"), r.Text("name"))
			}
			err := d.Scan(t.Context(), func(table string) bool { return table != "skipped" }, func(r *Row) error {
				got = append(got, fmt.Sprintf("%d: %s", r.Line, show(r)))
				places = append(places, r.Place)
				if !r.Has("id") || r.Has("nothing") || r.Text("nothing") != "" || r.Int("nothing") != 0 || r.Int("name") != 0 {
					t.Error("a column that does not exist has a value")
				}
				return nil
			}, nil)
			if err != nil || strings.Join(got, "|") != test.want {
				t.Fatalf("%v\n%q, want\n%q", err, strings.Join(got, "|"), test.want)
			}
			for _, p := range slices.Backward(places) {
				r, err := d.At(p)
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, show(r))
			}
			slices.Reverse(rows)
			for i := range got {
				if !strings.HasSuffix(got[i], ": "+rows[i]) {
					t.Errorf("read again: %q, want %q", rows[i], got[i])
				}
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"INSERT INTO t VALUES (1);":                                    "line 1: the columns of t are unknown",
		table + "INSERT INTO t VALUES (1);":                            "line 7: a row of t has 1 values, but there are 2 columns",
		table + "INSERT INTO t VALUES (1,2,3);":                        "line 7: a row of t has more values",
		table + "INSERT INTO t VALUES (1,'cut":                         "line 7: the dump ends in the middle of a statement",
		table + "INSERT INTO t VALUES (1,'a'),":                        "line 7: the dump ends in the middle of a statement",
		table + "INSERT INTO t VALUES (1,(2));":                        "line 7: expected a value in a row of t",
		table + "INSERT INTO t VALUES (1 2);":                          "line 7: expected a comma",
		table + "INSERT INTO t SELECT 1, 2;":                           `found "SELECT"`,
		table + "INSERT INTO t VALUES (1,0x4);":                        "not a hexadecimal number",
		"INSERT INTO " + strings.Repeat("x", 200) + " VALUES (1);":     "a word has more than 128 bytes",
		"CREATE TABLE t (" + strings.Repeat("a int,", 2000) + "b int)": "more than 1024 columns",
	} {
		d := open(t, text)
		err := d.Scan(t.Context(), every, func(*Row) error { return nil }, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "dump.sql.gz")
	if err := os.WriteFile(name, []byte("\x1f\x8b\x08"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name); !errors.Is(err, ErrCompressed) {
		t.Errorf("compressed: %v", err)
	}
}

// TestTokensAcrossBuffers reads a dump with buffers of all small sizes, so that each token is split once.
func TestTokensAcrossBuffers(t *testing.T) {
	t.Parallel()
	text := table + `/* a * b */INSERT INTO t VALUES (1,'it''s \'a\' \\'),(22,_binary 'x'), (333,NULL) -- end` + "\n;"
	for size := 16; size < 80; size++ {
		d := open(t, text)
		if _, err := d.file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		var got []string
		s := &scanner{in: bufio.NewReaderSize(d.file, size), line: 1, dump: d, accept: every, ctx: t.Context(), each: func(r *Row) error {
			got = append(got, fmt.Sprintf("%d=%s", r.Int("id"), r.Text("name")))
			return nil
		}}
		if err := s.readStatements(); err != nil || strings.Join(got, "|") != `1=it's 'a' \|22=x|333=` {
			t.Errorf("size %d: %q, %v", size, got, err)
		}
	}
}

// memory is a dump in memory.
type memory struct{ *strings.Reader }

func (memory) Close() error { return nil }

func FuzzScan(f *testing.F) {
	f.Add(table + "INSERT INTO `t` VALUES (1,'a'),(2,NULL);")
	f.Add("DELIMITER ;;\n;;\nDELIMITER ;\nINSERT INTO a.b (c, d) VALUES (x'41', \"\\\"\"), (0x42,_binary 'x');")
	f.Fuzz(func(t *testing.T, text string) {
		d := &Dump{file: memory{strings.NewReader(text)}, indexes: make(map[string]int)}
		type read struct {
			place Place
			text  string
		}
		var rows []read
		_ = d.Scan(t.Context(), every, func(r *Row) error {
			rows = append(rows, read{r.Place, string(r.text)})
			return nil
		}, nil)
		for _, row := range rows {
			if got, err := d.At(row.place); err != nil || string(got.text) != row.text {
				t.Fatalf("%q is read again as %q, %v", row.text, got.text, err)
			}
		}
	})
}
