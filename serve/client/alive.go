package client

import (
	"context"
	"net/http"
)

// Alive asks a server once whether it lives, and returns nil if it does. It sends no token,
// so of the options only URL and HTTP count. It waits until ctx ends.
func Alive(ctx context.Context, o Options) error {
	o.Token, o.Insecure = "none", true // nothing is sent that others must not read
	c, err := New(o)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return unreached(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return problemOf(answer)
	}
	return nil
}
