package serve

import (
	"net/http"
	"strings"
)

// maxBrowser is how many bytes of a browser's name are kept.
const maxBrowser = 200

// browserOf returns the User-Agent of a request.
func browserOf(r *http.Request) string {
	name := r.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), maxBrowser)], "")
}
