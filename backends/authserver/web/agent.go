package web

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// agentToken is a text in a User-Agent that identifies a browser or an operating system, and the name of that browser
// or operating system.
type agentToken struct{ text, name string }

// The known browsers and operating systems. The first match decides: Edge and Opera also call themselves Chrome, Chrome
// calls itself Safari, and Android calls itself Linux.
var (
	browsers = []agentToken{
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
	systems = []agentToken{
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
func browserName(language *locale.Language, agent string) string {
	browser, system := nameIn(browsers, agent), nameIn(systems, agent)
	if browser == "" {
		if browser, _, _ = strings.Cut(agent, " "); browser == "" {
			browser = language.Translate("Unknown browser")
		}
	}
	if system == "" {
		return browser
	}
	return language.Translate("{browser} on {system}", "browser", browser, "system", system)
}

// nameIn returns the name of the first token that occurs in a User-Agent, or "".
func nameIn(tokens []agentToken, agent string) string {
	for _, w := range tokens {
		if strings.Contains(agent, w.text) {
			return w.name
		}
	}
	return ""
}
