package username

import (
	"errors"
	"slices"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Bob": "", "bob_1": "", "Łukasz Żak": "", "Анна": "", "山田 Taro": "", "नरेन्द्र": "", "ก็่": "", "O'Neill": "", "bob 🙂": "", "e\u0301": "", "สวัสดี": "", "٠٩": "",
		"b\u200bob": "invisible", "bo\u00adb": "invisible", "bob\u2060": "invisible", "bob\ufeff": "invisible", "bob\ufe0f": "invisible", "b\u200dob": "invisible", "bob\u202e": "invisible",
		"bob\u3164": "invisible", "bob\u115f": "invisible", "bob\uffa0": "invisible", "bob\u034f": "invisible", "bob\u2800": "invisible", "bob\U000E0041": "invisible", "bob\u00a0x": "invisible", "bob\u3000x": "invisible",
		"bob\u2028": "invisible", "bob\ue000": "invisible", "bob\u0378": "invisible", "bob\ufffd": "invisible", "bob\t": "invisible", "bob\x00": "invisible", "bob\u180e": "invisible", "bob\u17b4": "invisible",
		" bob": "spaces", "bob ": "spaces", "b  ob": "spaces",
		"\u0301bob": "marks", "b \u0301ob": "marks", "bo\u20ddb": "marks", "q\u0301\u0302\u0303\u0304\u0305": "marks",
		"Аdmin": "scripts", "bοb": "scripts",
		"1٢": "digits",
	} {
		err := Check(name)
		refusal, _ := errors.AsType[*Error](err)
		if want == "" && err != nil || want != "" && (refusal == nil || refusal.Reason != want || refusal.Error() == "") {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	alike := func(a, b string) bool {
		return slices.ContainsFunc(Keys(a), func(key string) bool { return slices.Contains(Keys(b), key) })
	}
	for _, pair := range [][2]string{
		{"Bob", "BOB"},
		{"paypal", "PaypaI"},
		{"paypal", "PAYPA1"},
		{"Ian", "lan"},
		{"b0b", "Bob"},
		{"modern", "rnodern"},
		{"PICO", "рісо"},
		{"scope", "ѕсоре"},
		{"СОСА", "coca"},
		{"ｂｏｂ", "bob"},
		{"𝐛ob", "bob"},
		{"bob  x", "bob x"},
		{"ﬁsh", "fish"},
		{"user1", "userl"},
		{"Straße", "straße"},
		{"e\u0301a", "éa"},
		{"bob\u00a0x", "bob x"},
	} {
		if !alike(pair[0], pair[1]) {
			t.Errorf("%q and %q: %q, %q", pair[0], pair[1], Keys(pair[0]), Keys(pair[1]))
		}
	}
	for _, pair := range [][2]string{{"ali", "all"}, {"Bob", "Rob"}, {"alice", "alicia"}, {"Anna", "Анна"}, {"bob x", "bobx"}, {"rené", "rene"}, {"will", "wili"}} {
		if alike(pair[0], pair[1]) {
			t.Errorf("%q and %q: %q, %q", pair[0], pair[1], Keys(pair[0]), Keys(pair[1]))
		}
	}
	if got := Keys("a\x00b"); len(got) != 1 || got[0] != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	reserved := NewReserved(append([]string{"Tollgate Team", "", "  "}, Common...)...)
	for name, want := range map[string]bool{
		"admin": true, "ADMIN": true, "Admin.": true, "a d m i n": true, "adrnin": true, "аdmіn": true, "aDM1N": true, "Moderator": true, "r00t": true, "tollgate-team": true, "TollgateTearn": true, "Deleted_Member": true,
		"Adam": false, "admina": false, "admin 2": false, "Ruth": false, "": false, "...": false, "Tollgate": false,
	} {
		if got := reserved.Check(name) != nil; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"", "Bob", "Аdmin", "b\u200bob", "q\u0301\u0302", "\xff", "１２"} {
		f.Add(seed)
	}
	reserved := NewReserved(Common...)
	f.Fuzz(func(t *testing.T, name string) {
		_, _ = Check(name), reserved.Check(name)
		if keys := Keys(name); len(keys) < 1 || len(keys) > 2 || slices.ContainsFunc(keys, func(key string) bool { return slices.Contains([]byte(key), 0) }) {
			t.Errorf("%q: %q", name, keys)
		}
	})
}
