package egress

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// action is the fate of a request.
type action int

const (
	refuse  action = iota
	forward        // with the real credential; it costs nothing
	metered        // as forward, and its answer is paid for
	present        // answered here: yes, there is a server
	setting        // one of the CLI's own settings: see [OrgSettings]
)

// route is a request that the proxy knows. The path must be the same byte for byte, so
// there is nothing to normalise and nothing to get past it.
type route struct {
	method, path string
	does         action
}

var routes = [...]route{
	{http.MethodPost, "/v1/messages", metered},
	{http.MethodPost, "/v1/messages/count_tokens", forward},
	{http.MethodHead, "/", present}, // some versions of the CLI begin with it
	{http.MethodGet, "/api/claude_code/settings", setting},
	{http.MethodGet, "/api/claude_code/policy_limits", setting},
}

// OrgSettings decides about the two requests with which the CLI asks the API for the settings
// and limits of an organisation.
type OrgSettings int

const (
	// OrgSettingsRefused answers that there are none. The CLI works without them.
	OrgSettingsRefused OrgSettings = iota
	// OrgSettingsForwarded asks the API, with the real credential.
	OrgSettingsForwarded
)

// routing decides about requests of the API.
type routing struct {
	settings OrgSettings
	also     []string // "METHOD /path"
}

// of decides what happens to a request.
func (r routing) of(method, escapedPath string) action {
	i := slices.IndexFunc(routes[:], func(known route) bool { return known.method == method && known.path == escapedPath })
	switch {
	case i >= 0 && routes[i].does != setting:
		return routes[i].does
	case i >= 0 && r.settings == OrgSettingsForwarded:
		return forward
	case i >= 0:
		return setting
	case slices.Contains(r.also, method+" "+escapedPath):
		return forward
	}
	return refuse
}

// check refuses entries that can never match, and those that would not be counted.
func (r routing) check() error {
	for _, entry := range r.also {
		method, path, ok := strings.Cut(entry, " ")
		if !ok || method == "" || method != strings.ToUpper(method) || method == http.MethodConnect || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#* ") {
			return fmt.Errorf("claude: egress: AlsoAllow: %q does not have the form \"GET /v1/models\"", entry)
		}
		if path == "/v1/messages" || strings.HasPrefix(path, "/v1/messages/batches") {
			return fmt.Errorf("claude: egress: AlsoAllow: %q would be an answer that no budget counts", entry)
		}
	}
	return nil
}

// passedOn are the headers of a request that reach the API, in lower case. A star stands
// for any ending. Everything else stays here: credentials of the client, cookies, and what
// is meant for the next hop only.
var passedOn = [...]string{
	"accept", "accept-language", "content-type", "user-agent",
	"anthropic-*", "x-app", "x-stainless-*", "x-claude-*", "x-client-request-id", "traceparent", "tracestate",
}

// upstreamHeader returns the part of a request's header that reaches the API. Nothing that
// contains the sentinel does. Accept-Encoding is left to the transport, which then decodes
// what it has asked for: an answer that cannot be read cannot be counted.
func upstreamHeader(from http.Header, sentinel string) http.Header {
	to := make(http.Header)
	for name, values := range from {
		lower := strings.ToLower(name)
		if !slices.ContainsFunc(passedOn[:], func(known string) bool {
			prefix, open := strings.CutSuffix(known, "*")
			return lower == known || open && strings.HasPrefix(lower, prefix)
		}) || named(from, lower) || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, sentinel) }) {
			continue
		}
		to[name] = slices.Clone(values)
	}
	return to
}

// named reports whether the Connection header names a header as one of this hop.
func named(h http.Header, lower string) bool {
	for _, value := range h.Values("Connection") {
		for token := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(token), lower) {
				return true
			}
		}
	}
	return false
}

// kept are the headers of an answer that do not reach the client.
var kept = [...]string{
	"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
	"set-cookie", "alt-svc", "authorization", "x-api-key", "www-authenticate", "location",
}

// downstreamHeader copies what of an answer's header reaches the client. Nothing that
// contains the real secret does.
func downstreamHeader(to, from http.Header, secret string) {
	for name, values := range from {
		lower := strings.ToLower(name)
		if slices.Contains(kept[:], lower) || named(from, lower) || slices.ContainsFunc(values, func(v string) bool { return repeats(v, secret) }) {
			continue
		}
		to[name] = slices.Clone(values)
	}
}
