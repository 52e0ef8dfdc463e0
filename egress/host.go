package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// target is a host and port that CONNECT names.
type target struct {
	host string // in lower case, without the final dot
	port uint16
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }

var errAddress = errors.New("an address is not a name: only hosts by name can be allowed")

// parseTarget reads what CONNECT names. Only names are targets: a rule about names says
// nothing about addresses, in whatever way they are written.
func parseTarget(authority string) (target, error) {
	host, port, err := net.SplitHostPort(authority)
	if err != nil {
		return target{}, errors.New("the target does not have the form host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, fmt.Errorf("%q is not a port", port)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if err := checkHost(host); err != nil {
		return target{}, err
	}
	return target{host, uint16(n)}, nil
}

// checkHost refuses a text that is not a host name. Resolvers read 127.1, 0x7f000001 and
// 2130706433 as addresses. The last label of a name is never a number.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return errAddress
	}
	if host == "" || len(host) > 253 {
		return errors.New("the name of the host is empty or too long")
	}
	var last string
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			return fmt.Errorf("%q is not the name of a host", host)
		}
		last = label
	}
	if last[0] >= '0' && last[0] <= '9' {
		return errAddress
	}
	return nil
}

// hostRule is an entry of [Options.Hosts].
type hostRule struct {
	host string
	any  bool // of its subdomains, and not the host itself
	port uint16
}

// parseHostRule reads "github.com", "*.github.com" or "host.example:8443".
func parseHostRule(entry string) (hostRule, error) {
	authority := entry
	if !strings.Contains(entry, ":") {
		authority += ":443"
	}
	rest, open := strings.CutPrefix(authority, "*.")
	t, err := parseTarget(rest)
	if err == nil && open && !strings.Contains(t.host, ".") {
		err = errors.New("it would allow a whole top-level domain")
	}
	if err != nil {
		return hostRule{}, fmt.Errorf("claude: egress: Hosts: %q: %w", entry, err)
	}
	return hostRule{t.host, open, t.port}, nil
}

func (r hostRule) allows(t target) bool {
	if r.port != t.port {
		return false
	}
	if r.any {
		return strings.HasSuffix(t.host, "."+r.host)
	}
	return t.host == r.host
}

// special are networks that are not the internet. A name that resolves to one of them
// would reach what the proxy can and the conversation cannot: its own machine, the metadata
// of a cloud, the neighbours.
var special = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("224.0.0.0/3"),
	// Of IPv6, only 2000::/3 is the internet. In it, these carry other addresses or are for
	// documents.
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// public reports whether an address is one of the internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsValid() || ip.Zone() != "" || ip.Is6() && !netip.MustParsePrefix("2000::/3").Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(special[:], func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Resolver finds the addresses of a host. [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// gate decides which hosts can be reached.
type gate struct {
	rules    []hostRule
	networks []netip.Prefix // that are allowed though they are not of the internet
	resolver Resolver
}

var (
	errNotAllowed = errors.New("the host is not on the list")
	errPrivate    = errors.New("the host has an address that is not on the internet")
)

// addresses returns where to connect to for a target. If one address of a name is not
// allowed, none is used: a name that points inside once will do so again.
func (g gate) addresses(ctx context.Context, t target) ([]netip.AddrPort, error) {
	if !slices.ContainsFunc(g.rules, func(r hostRule) bool { return r.allows(t) }) {
		return nil, errNotAllowed
	}
	found, err := g.resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil, err
	}
	all := make([]netip.AddrPort, 0, len(found))
	for _, ip := range found {
		ip = ip.Unmap()
		if !public(ip) && !slices.ContainsFunc(g.networks, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return nil, errPrivate
		}
		all = append(all, netip.AddrPortFrom(ip, t.port))
	}
	if len(all) == 0 {
		return nil, errors.New("the host has no address")
	}
	return all, nil
}
