package secret

import "strings"

// IsSecretName reports whether the name of a variable, a member or a header marks
// its value as secret. One of its parts must do so: API_KEY and X-Auth-Token do,
// GIT_AUTHOR_NAME does not.
func IsSecretName(name string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		if strings.Contains(part, "AUTH") && !strings.Contains(part, "AUTHOR") || part == "AUTHORIZATION" {
			return true
		}
		switch part {
		case "PASS", "PAT": // SMTP_PASS, GITLAB_PAT
			return true
		case "PWD": // MYSQL_PWD, but PWD is where a shell is
			if len(name) > len(part) {
				return true
			}
		}
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE", "HEADERS"} {
			if strings.Contains(part, word) {
				return true
			}
		}
	}
	return false
}

// isSecretMember is IsSecretName for the name of a member of any JSON. The protocol counts
// tokens and names the sources of keys, so only names that stand for the secret
// itself count.
func isSecretMember(name string) bool {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == '.':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
	switch plain {
	case "authorization", "proxyauthorization", "cookie", "setcookie", "credentials", "privatekey", "token":
		return true
	}
	for _, end := range []string{"apikey", "secretkey", "accesskey", "authtoken", "accesstoken", "refreshtoken", "bearertoken",
		"sessiontoken", "idtoken", "oauthtoken", "secret", "password", "passwd", "passphrase"} {
		if strings.HasSuffix(plain, end) {
			return true
		}
	}
	return false
}

// holdsVariables reports whether the members of an object with this name are
// variables or headers, whose names reveal their kind.
func holdsVariables(name string) bool {
	switch strings.ToLower(name) {
	case "env", "environment", "headers":
		return true
	}
	return false
}
