package serve

import (
	"context"
	"errors"
	"net/url"

	"github.com/claude-agent-go/claude/serve/api"
)

// LoginProvider lets people log in to the page with an account that they have elsewhere,
// such as with the identity provider of a company. Package serve/oidclogin has one for
// OpenID Connect.
//
// The server sends the browser to the provider and takes it back, and sees to it that both
// are the same browser. Its methods may be called from any goroutine. The server ends
// their contexts after 15 seconds.
type LoginProvider interface {
	// Name is how people call the provider. The page offers to log in with it.
	Name() string
	// Begin returns the address at the provider to which the browser is sent.
	Begin(ctx context.Context, a LoginAttempt) (address string, err error)
	// Finish returns the user, by the parameters with which the provider has sent the
	// browser back to LoginAttempt.Return. Their state has been compared already. The
	// error is an [UnknownUserError] if the user has no access, wraps [ErrLoginFailed]
	// if the answer of the provider cannot be trusted, and otherwise means that the
	// provider cannot be reached.
	Finish(ctx context.Context, a LoginAttempt, sent url.Values) (api.User, error)
}

// LoginAttempt is an attempt of one browser to log in with a [LoginProvider]. It is the
// same in Begin and Finish.
type LoginAttempt struct {
	// Return is the address of this server to which the provider sends the browser back.
	Return string
	// State, Nonce and Verifier cannot be guessed, and do not follow from each other.
	// State must be a parameter of both addresses. Nonce binds a token to the attempt,
	// and Verifier, which the browser does not see, a code.
	State, Nonce, Verifier string
}

// ErrLoginFailed means that a [LoginProvider] has not confirmed who the user is.
var ErrLoginFailed = errors.New("claude: serve: the login failed")

// UnknownUserError means that a [LoginProvider] has confirmed who the user is, and that
// they have no access to this server.
type UnknownUserError struct {
	// Name is how the provider calls the user. They are told, so that an admin can be.
	Name string
}

// Error implements error.
func (e *UnknownUserError) Error() string {
	return "claude: serve: " + e.Name + " has no access to this server"
}
