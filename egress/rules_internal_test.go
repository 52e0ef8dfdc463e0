package egress

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	r := routing{also: []string{"GET /v1/models"}}
	for _, test := range []struct {
		request string
		want    action
	}{
		{"POST /v1/messages", metered},
		{"POST /v1/messages/count_tokens", forward},
		{"GET /v1/models", forward},
		{"HEAD /", present},
		{"GET /api/claude_code/settings", setting},
		{"GET /v1/messages", refuse},
		{"POST /v1/messages/", refuse},
		{"POST //v1/messages", refuse},
		{"POST /v1/../v1/messages", refuse},
		{"POST /v1/%6dessages", refuse},
		{"POST /v1/messages/batches", refuse},
		{"POST /V1/messages", refuse},
		{"POST /v1/files", refuse},
		{"GET /v1/organizations/usage_report/messages", refuse},
		{"POST /api/event_logging/v2/batch", refuse},
		{"DELETE /v1/models", refuse},
		{"GET /", refuse},
		{"POST ", refuse},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		if got := r.of(method, path); got != test.want {
			t.Errorf("%s: %d, want %d", test.request, got, test.want)
		}
	}
	if got := (routing{settings: OrgSettingsForwarded}).of("GET", "/api/claude_code/policy_limits"); got != forward {
		t.Errorf("forwarded settings: %d", got)
	}
	for _, bad := range []string{"", "/v1/models", "GET", "get /v1/models", "GET v1", "GET /v1/*", "CONNECT /x", "POST /v1/messages", "POST /v1/messages/batches", "GET /a?b"} {
		if (routing{also: []string{bad}}).check() == nil {
			t.Errorf("AlsoAllow takes %q", bad)
		}
	}
}

func TestHeaders(t *testing.T) {
	got := upstreamHeader(http.Header{
		"X-Api-Key": {"SENTINEL"}, "Authorization": {"Bearer SENTINEL"}, "Proxy-Authorization": {"x"}, "Cookie": {"x"},
		"Accept-Encoding": {"br"}, "X-Forwarded-For": {"1.2.3.4"}, "Forwarded": {"x"}, "Te": {"trailers"}, "Host": {"elsewhere"},
		"Connection": {"keep-alive, X-App"}, "X-App": {"cli"}, "X-Other": {"x"}, "Transfer-Encoding": {"chunked"},
		"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a", "b"}, "Content-Type": {"application/json"},
		"X-Stainless-Lang": {"js"}, "Anthropic-Sneaky": {"prefix SENTINEL suffix"}, "User-Agent": {"claude-cli"},
	}, "SENTINEL")
	want := http.Header{
		"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a", "b"}, "Content-Type": {"application/json"},
		"X-Stainless-Lang": {"js"}, "User-Agent": {"claude-cli"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("upstream gets %v", got)
	}
	back := make(http.Header)
	downstreamHeader(back, http.Header{
		"Content-Type": {"x"}, "Retry-After": {"3"}, "Anthropic-Ratelimit-Requests-Remaining": {"5"}, "Set-Cookie": {"x"}, "Location": {"http://x"},
		"Connection": {"X-Hop"}, "X-Hop": {"x"}, "X-Debug": {"key=SECRET"}, "Transfer-Encoding": {"chunked"},
	}, "SECRET")
	if want := (http.Header{"Content-Type": {"x"}, "Retry-After": {"3"}, "Anthropic-Ratelimit-Requests-Remaining": {"5"}}); !reflect.DeepEqual(back, want) {
		t.Errorf("the client gets %v", back)
	}
}

type fixed map[string][]string

func (f fixed) LookupNetIP(_ context.Context, _, host string) (all []netip.Addr, err error) {
	for _, a := range f[host] {
		all = append(all, netip.MustParseAddr(a))
	}
	if all == nil {
		err = errors.New("no such host")
	}
	return all, err
}

func TestHosts(t *testing.T) {
	o := Options{
		Hosts: []string{"github.com", "*.github.com", "Registry.Example:8443", "inside.example", "mixed.example", "mapped.example", "cloud.example"},
		Resolver: fixed{
			"github.com": {"140.82.121.4", "2606:50c0:8000::153"}, "api.github.com": {"140.82.121.6"}, "registry.example": {"10.1.2.3"},
			"inside.example": {"127.0.0.1"}, "mixed.example": {"140.82.121.4", "192.168.0.1"}, "mapped.example": {"::ffff:10.0.0.1"}, "cloud.example": {"169.254.169.254"},
			"evilgithub.com": {"140.82.121.4"}, "github.com.evil.example": {"140.82.121.4"},
		},
		Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
	}
	g, err := o.newGate()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		authority string
		want      string // the addresses, or the error
	}{
		{"github.com:443", "140.82.121.4:443 [2606:50c0:8000::153]:443"},
		{"GitHub.com.:443", "140.82.121.4:443 [2606:50c0:8000::153]:443"},
		{"api.github.com:443", "140.82.121.6:443"},
		{"registry.example:8443", "10.1.2.3:8443"},
		{"registry.example:443", "not on the list"},
		{"github.com:22", "not on the list"},
		{"evilgithub.com:443", "not on the list"},
		{"github.com.evil.example:443", "not on the list"},
		{"inside.example:443", "not on the internet"},
		{"mixed.example:443", "not on the internet"},
		{"mapped.example:443", "not on the internet"},
		{"cloud.example:443", "not on the internet"},
		{"gone.github.com:443", "no such host"},
		{"140.82.121.4:443", "an address is not a name"},
		{"[::1]:443", "an address is not a name"},
		{"127.1:443", "an address is not a name"},
		{"2130706433:443", "an address is not a name"},
		{"0x7f000001:443", "an address is not a name"},
		{"0177.0.0.1:443", "an address is not a name"},
		{"github.com", "host:port"},
		{"github.com:0", "not a port"},
		{"github.com:99999", "not a port"},
		{"github.com:https", "not a port"},
		{":443", "empty"},
		{"a@github.com:443", "not the name of a host"},
		{"github.com/x:443", "not the name of a host"},
		{"git\x00hub.com:443", "not the name of a host"},
		{"githüb.com:443", "not the name of a host"},
	} {
		var got []string
		target, err := parseTarget(test.authority)
		if err == nil {
			var all []netip.AddrPort
			all, err = g.addresses(t.Context(), target)
			for _, a := range all {
				got = append(got, a.String())
			}
		}
		if err != nil {
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", test.authority, err, test.want)
			}
		} else if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", test.authority, got, test.want)
		}
	}
	for _, bad := range []string{"", "*", "*.com", "10.0.0.1", "*.10.0.0.1", "https://github.com", "a b", "github.com:0", "[::1]:443"} {
		if _, err := parseHostRule(bad); err == nil {
			t.Errorf("Hosts takes %q", bad)
		}
	}
}

func TestPublic(t *testing.T) {
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.1.1",
		"198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "ff02::1", "2001::1", "2001:db8::1", "2002:a00:1::1", "3fff::1",
	} {
		if public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "100.63.255.255", "172.15.0.1", "172.32.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s does not count as public", a)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address counts as public")
	}
}

// Whatever the environment holds, no other credential and no other way out is left in it.
func TestEnvironment(t *testing.T) {
	const key = "sk-ant-api03-real-key-of-the-account"
	environ := []string{
		"PATH=/bin", "HOME=/home/me", "ANTHROPIC_MODEL=opus", "GH_TOKEN=ghp_mine", "EMPTY=",
		"ANTHROPIC_API_KEY=" + key, "anthropic_auth_token=real-token-1", "CLAUDE_CODE_OAUTH_TOKEN=real-token-2", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN=real-token-3",
		"CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR=3", "ANTHROPIC_BASE_URL=https://elsewhere", "ANTHROPIC_CUSTOM_HEADERS=x-api-key: real-token-4", "ANTHROPIC_UNIX_SOCKET=/x",
		"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_SKIP_VERTEX_AUTH=1", "ANTHROPIC_VERTEX_BASE_URL=x", "ANTHROPIC_FOUNDRY_API_KEY=real-token-5", "AWS_BEARER_TOKEN_BEDROCK=real-token-6",
		"HTTPS_PROXY=http://me:pw@corp", "http_proxy=x", "all_proxy=x", "NO_PROXY=*", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=",
		"MY_COPY=" + key, "IN_A_URL=https://x/?k=" + key + "&y",
	}
	fixedPart := []string{"ANTHROPIC_API_KEY=S", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	got := environment(environ, false, FormAPIKey, "S", "http://127.0.0.1:1", false)
	if want := slices.Concat([]string{"PATH=/bin", "HOME=/home/me", "ANTHROPIC_MODEL=opus", "GH_TOKEN=ghp_mine", "EMPTY="}, fixedPart); !slices.Equal(got, want) {
		t.Errorf("chosen: %q", got)
	}
	got = environment(environ, true, FormAPIKey, "S", "http://127.0.0.1:1", false)
	if want := slices.Concat([]string{"PATH=/bin", "HOME=/home/me", "ANTHROPIC_MODEL=opus", "EMPTY="}, fixedPart); !slices.Equal(got, want) {
		t.Errorf("inherited: %q", got)
	}
	got = environment(nil, false, FormOAuth, "S", "http://127.0.0.1:1", true)
	want := []string{
		"CLAUDE_CODE_OAUTH_TOKEN=S", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"HTTPS_PROXY=http://egress:S@127.0.0.1:1", "https_proxy=http://egress:S@127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("with tunnels: %q", got)
	}
	if got := environment(nil, false, FormBearer, "S", "u", false); got[0] != "ANTHROPIC_AUTH_TOKEN=S" {
		t.Errorf("bearer: %q", got)
	}
}
