package web

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// word is a part of a User-Agent that identifies a browser or a system, and the name of that.
type word struct{ sign, name string }

// The known browsers and systems. The first one that matches decides: Edge and Opera also call themselves Chrome,
// Chrome calls itself Safari, and Android calls itself Linux.
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

// browserName returns a readable name for a User-Agent in a language, such as Firefox on Linux. For an unknown
// browser it uses the first word, and for an empty User-Agent it returns "Unknown browser".
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
