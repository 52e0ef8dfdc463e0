package policy

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// plainURL is an address that all programs read alike. Others, with
// backslashes, missing slashes or letters that stand for plain ones, lead a
// browser to a host that only the browser sees in them.
var plainURL = lazily(`^[hH][tT][tT][pP][sS]?://[0-9A-Za-z.-]*[0-9A-Za-z](:[0-9]*)?([/?#][^\\\pC\pZ]*)?$`)

// fitsHost compares the host of a call with a rule for WebFetch.
func (r rule) fitsHost(req *permission.Request, how reading) (bool, error) {
	if req.ToolName != "WebFetch" {
		return false, nil
	}
	var in struct {
		URL string `json:"url"`
	}
	if err := decode(req, &in); err != nil {
		return false, err
	}
	u, err := url.Parse(in.URL)
	if err != nil || !plainURL.MatchString(in.URL) || oddNumber(u.Hostname()) {
		return how == broad, nil
	}
	return r.stars.MatchString(strings.ToLower(u.Hostname())), nil
}

// oddNumber reports whether a host is the number of a machine in a form that
// not all programs know, such as 0x7f.1.
func oddNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] < '0' || last[0] > '9' {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err != nil
}
