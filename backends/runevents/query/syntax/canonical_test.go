package syntax

import "testing"

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		` { "b" : 1.0, "a" : [ 1e2, -0, 2.50 ] , "b" : "\u00fc\ud834\udd1e\u0000\/" } `: "{\"a\":[100,0,2.5],\"b\":\"ü𝄞\uFFFD/\"}",
		`"\ud834"`: "\"\uFFFD\"", `12345678901234567890`: "12345678901234567890", `1e400`: "1e400", `1E22`: "1e+22", `1e20`: "100000000000000000000", `-12.5e-30`: "-1.25e-29",
		`{"a!":1,"a":{"z":[],"\u0000":{}},"":0,"a":2}`: `{"":0,"a":2,"a!":1}`, `{"\u0000":1,"a":2,"\uFFFD":3}`: "{\"a\":2,\"\uFFFD\":3}", `null`: "null", `"\u0001\n"`: `"\u0001\n"`, `0.1`: "0.1",
	} {
		got, err := Canonical([]byte(in))
		if err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", in, got, err, want)
		}
		if second, err := Canonical([]byte(got)); err != nil || second != got {
			t.Errorf("%s becomes %s, %v", got, second, err)
		}
	}
	for _, in := range []string{"", "{", "1 2", "x"} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("%s: %s, want an error", in, got)
		}
	}
}
