package hub

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"
)

func picture(t *testing.T, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	say := func(parts ...Part) *Request { return &Request{Messages: []Message{{Role: User, Parts: parts}}} }
	text := func(s string) *Request { return say(Part{Kind: PartText, Text: s}) }
	for name, test := range map[string]struct {
		r    *Request
		want int64
	}{
		"nothing": {&Request{}, 0},
		"English": {text(strings.Repeat("abcd efgh ", 36)), 4 + 100},
		"CJK":     {text("日本語のテスト"), 4 + 7},
		"digits":  {text("1234567890"), 4 + 4},
		"umlauts": {text(strings.Repeat("ü", 18)), 4 + 10},
		"picture": {say(Part{Kind: PartImage, URL: picture(t, 300, 250)}), 4 + 100},
		"large":   {say(Part{Kind: PartImage, URL: picture(t, 2000, 2000)}), 4 + 1600},
		"by URL":  {say(Part{Kind: PartImage, URL: "https://example.com/a.png"}), 4 + 1100},
		"broken":  {say(Part{Kind: PartImage, URL: "data:image/png;base64,AAAA"}), 4 + 1100},
		"PDF":     {say(Part{Kind: PartFile, URL: "data:application/pdf;base64,AAAA"}), 4 + 1500},
		"calls":   {&Request{Messages: []Message{{Role: Assistant, Calls: []Call{{Name: "f", Arguments: `{"abcdefghijklmn":true}`}}}}}, 4 + 7},
		"tools":   {&Request{Tools: []Tool{{Name: "f", Description: "d", Parameters: strings.Repeat("x", 34)}}}, 12 + 10},
	} {
		if got := CountTokens(test.r); got != test.want {
			t.Errorf("%s: %d tokens, want %d", name, got, test.want)
		}
	}
}
