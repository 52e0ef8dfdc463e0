package oidclogin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/serve/api"
)

// Access is a rule that gives people a role.
type Access struct {
	// Who is one of these:
	//
	//	ada@example.com   the person with this verified e-mail address
	//	@example.com      everybody with a verified address of this domain
	//	group:devs        the members of a group
	//	sub:248289761001  the person with this subject
	//	*                 everybody whom the provider knows
	Who string
	// Role is the role that they have.
	Role api.Role
}

// ParseAccess reads a rule that is written as WHO=ROLE, such as @example.com=operator.
func ParseAccess(text string) (Access, error) {
	at := strings.LastIndexByte(text, '=') // names of groups may have one
	if at < 0 {
		return Access{}, fmt.Errorf("claude: oidclogin: %q is not WHO=ROLE, such as @example.com=operator", text)
	}
	r := Access{text[:at], api.Role(text[at+1:])}
	if !r.Role.Valid() {
		return Access{}, fmt.Errorf("claude: oidclogin: %q names no role: viewer, approver, operator or admin", text)
	}
	if kind, name, ok := strings.Cut(r.Who, ":"); r.Who != "*" && (!ok || name == "" || kind != "group" && kind != "sub") {
		if _, domain, ok := cutLast(r.Who, "@"); !ok || domain == "" {
			return Access{}, fmt.Errorf("claude: oidclogin: %q names no one: it begins with an e-mail address, @DOMAIN, group:NAME, sub:SUBJECT or *", text)
		}
	}
	return r, nil
}

// Allow returns a function for Options.User. A person has the greatest role of the rules
// that match, and no access if none does. Their name is their verified e-mail address in
// lower case, or else "sub:" and the subject, which no address can equal.
func Allow(rules ...Access) func(*Claims) (api.User, bool) {
	rules = slices.Clone(rules)
	return func(c *Claims) (api.User, bool) {
		u := api.User{Name: lower(c.Email)}
		if u.Name == "" {
			u.Name = "sub:" + c.Subject
		}
		for _, r := range rules {
			if r.matches(c) && (u.Role == "" || r.Role.Covers(u.Role)) {
				u.Role = r.Role
			}
		}
		return u, u.Role != ""
	}
}

// matches reports whether a rule is about a person.
func (r Access) matches(c *Claims) bool {
	if group, ok := strings.CutPrefix(r.Who, "group:"); ok {
		return slices.Contains(c.Groups, group)
	}
	if subject, ok := strings.CutPrefix(r.Who, "sub:"); ok {
		return subject == c.Subject
	}
	if r.Who == "*" {
		return true
	}
	user, domain, ok := cutLast(lower(c.Email), "@")
	if !ok || user == "" {
		return false
	}
	return lower(r.Who) == user+"@"+domain || lower(r.Who) == "@"+domain
}

// cutLast cuts a text around the last separator: the domain of an address is what follows
// its last @.
func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// lower turns the letters of ASCII to lower case, and no others: the Kelvin sign must not
// become a k, or one address would pass for another.
func lower(text string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, text)
}
