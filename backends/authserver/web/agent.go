package web

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// word is a text (sign) in a User-Agent that identifies a browser or an operating system, and the name of the latter.
type word struct{ sign, name string }

// The known browsers and operating systems. The first match decides: Edge and Opera also call themselves Chrome, Chrome
// calls itself Safari, and Android calls itself Linux.
var (
	browserWords = []word{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"Vivaldi/", "Vivaldi"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	}
	systemWords = []word{
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Android", "Android"},
		{"CrOS", "ChromeOS"},
		{"Windows", "Windows"},
		{"Mac OS X", "macOS"},
		{"Linux", "Linux"},
	}
)

// browserName returns a readable name for a User-Agent in a language, such as "Firefox on Linux". For an unknown
// browser it returns the first word, and for an empty User-Agent "Unknown browser".
func browserName(in *locale.Language, agent string) string {
	browser, system := named(browserWords, agent), named(systemWords, agent)
	if browser == "" {
		if browser, _, _ = strings.Cut(agent, " "); browser == "" {
			browser = in.Translate("Unknown browser")
		}
	}
	if system == "" {
		return browser
	}
	return in.Translate("{browser} on {system}", "browser", browser, "system", system)
}

func named(words []word, agent string) string {
	for _, w := range words {
		if strings.Contains(agent, w.sign) {
			return w.name
		}
	}
	return ""
}
