package web

import "strings"

// word is what a User-Agent has for a browser or a system, and what people call it.
type word struct{ sign, name string }

// The browsers and systems that people know by name. The first sign that a User-Agent has
// decides: Edge and Opera also call themselves Chrome, Chrome calls itself Safari, and
// Android calls itself Linux.
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

// browserName returns what people call the browser of a User-Agent, such as Firefox on Linux. Of
// one that is not among them it is the first word, and "Unknown browser" of an empty one.
func browserName(agent string) string {
	browser, system := named(browserWords, agent), named(systemWords, agent)
	if browser == "" {
		if browser, _, _ = strings.Cut(agent, " "); browser == "" {
			browser = "Unknown browser"
		}
	}
	if system == "" {
		return browser
	}
	return browser + " on " + system
}

func named(words []word, agent string) string {
	for _, w := range words {
		if strings.Contains(agent, w.sign) {
			return w.name
		}
	}
	return ""
}
