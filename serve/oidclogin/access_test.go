package oidclogin_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/oidclogin"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	var rules []oidclogin.Access
	for _, text := range []string{"ada@example.com=admin", "@example.com=viewer", "group:on=call=approver", "group:devs=operator", "sub:42=operator"} {
		r, err := oidclogin.ParseAccess(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	user := oidclogin.Allow(rules...)
	for _, c := range []struct {
		claims oidclogin.Claims
		name   string
		role   api.Role // empty: no access
	}{
		{oidclogin.Claims{Subject: "1", Email: "ADA@example.COM"}, "ada@example.com", api.RoleAdmin},
		{oidclogin.Claims{Subject: "1", Email: "bob@example.com"}, "bob@example.com", api.RoleViewer},
		{oidclogin.Claims{Subject: "1", Email: "bob@example.com", Groups: []string{"devs", "all"}}, "bob@example.com", api.RoleOperator},
		{oidclogin.Claims{Subject: "1", Groups: []string{"on=call"}}, "sub:1", api.RoleApprover},
		{oidclogin.Claims{Subject: "42"}, "sub:42", api.RoleOperator},
		{oidclogin.Claims{Subject: "1", Email: "eve@evil.example"}, "", ""},
		{oidclogin.Claims{Subject: "1", Email: "eve@example.com.evil"}, "", ""},
		{oidclogin.Claims{Subject: "1", Email: "eve@notexample.com"}, "", ""},
		{oidclogin.Claims{Subject: "1", Email: "@example.com@evil.example"}, "", ""},
		{oidclogin.Claims{Subject: "1", Email: "@example.com"}, "", ""},
		{oidclogin.Claims{Subject: "1", Email: "sub:42"}, "", ""},
		{oidclogin.Claims{Subject: "ada@example.com", Name: "ada@example.com"}, "", ""},
		{oidclogin.Claims{Subject: "1", Groups: []string{"Devs", "dev", "group:devs"}}, "", ""},
		{oidclogin.Claims{Subject: "1"}, "", ""},
	} {
		u, ok := user(&c.claims)
		if ok != (c.role != "") || ok && (u.Name != c.name || u.Role != c.role) {
			t.Errorf("%+v: %+v, %t", c.claims, u, ok)
		}
	}
	// The Kelvin sign is not a k, though it is one in lower case.
	if u, ok := oidclogin.Allow(oidclogin.Access{Who: "kim@example.com", Role: api.RoleAdmin})(&oidclogin.Claims{Email: "\u212aim@example.com"}); ok {
		t.Errorf("an address that only looks alike is %+v", u)
	}
	if u, ok := oidclogin.Allow(oidclogin.Access{Who: "*", Role: api.RoleViewer})(&oidclogin.Claims{Subject: "ada@example.com"}); !ok || u.Name != "sub:ada@example.com" {
		t.Errorf("a subject passes for an address: %+v, %t", u, ok)
	}
}

func TestParseAccess(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"*=viewer": "", "ada@example.com=admin": "", "@example.com=operator": "", "group:a=approver": "", "sub:1=viewer": "",
		"ada@example.com": "WHO=ROLE", "ada=viewer": "names no one", "=viewer": "names no one", "@=viewer": "names no one", "group:=viewer": "names no one",
		"team:a=viewer": "names no one", "*=root": "names no role", "*=": "names no role",
	} {
		if _, err := oidclogin.ParseAccess(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
