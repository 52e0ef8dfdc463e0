package page

import "strings"

// The names of browsers and systems in a User-Agent. Most browsers claim to be others
// as well, so the order matters.
var (
	browserMarks = [...][2]string{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"},
		{"CriOS/", "Chrome"}, {"HeadlessChrome/", "Chrome"}, {"Chrome/", "Chrome"}, {"Version/", "Safari"},
	}
	systemMarks = [...][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"}, {"Mac OS X", "Mac"}, {"Linux", "Linux"},
	}
)

// browserName returns the everyday name of a browser: its name, version and system.
// An unknown one keeps its own name.
func browserName(agent string) string {
	if !strings.HasPrefix(agent, "Mozilla/5.0 (") {
		return line(agent)
	}
	for _, b := range browserMarks {
		_, rest, ok := strings.Cut(agent, b[0])
		if !ok || b[1] == "Safari" && !strings.Contains(agent, "Safari/") {
			continue
		}
		if _, after, ok := strings.Cut(rest, "/"); ok && b[1] == "Edge" {
			rest = after // Edg, EdgA and EdgiOS
		}
		version, _, _ := strings.Cut(rest, ".")
		name := b[1] + " " + line(version)
		for _, s := range systemMarks {
			if strings.Contains(agent, s[0]) {
				return name + " on " + s[1]
			}
		}
		return name
	}
	return line(agent)
}
