package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// connect answers CONNECT: it opens a tunnel to an allowed host. Clients of a proxy lose
// the body of a refusal, so the reason is in the log.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	rec := p.begin("egress tunnel", r, r.Host)
	defer p.end(rec)
	pass, refused := p.admit(r.Context(), presentedToProxy(r.Header))
	rec.pass = pass
	if refused != nil {
		if pass == nil { // some clients present nothing before they are asked
			w.Header().Set("Proxy-Authenticate", `Basic realm="egress"`)
			refused.status = http.StatusProxyAuthRequired
		}
		rec.refuse(w, refused)
		return
	}
	leave, refused := p.enter(pass)
	if refused != nil {
		rec.refuse(w, refused)
		return
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(pass.ctx, func() { cancel(context.Cause(pass.ctx)) })()
	far, refused := p.reach(ctx, r.Host)
	if refused != nil {
		if ctx.Err() == nil { // otherwise no one waits for it any more
			p.refused(pass.grant.Conversation, r.Host[:min(len(r.Host), longest)], refused.text)
		}
		rec.refuse(w, refused)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		rec.refuse(w, &answer{status: http.StatusInternalServerError, kind: kindInternal, text: "This connection cannot become a tunnel.", cause: err})
		return
	}
	defer near.Close()
	_ = near.SetDeadline(time.Time{})
	rec.status = http.StatusOK
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection Established\r\n\r\n"); err != nil {
		rec.cause = err
		return
	}
	defer context.AfterFunc(pass.ctx, func() {
		_ = near.Close()
		_ = far.Close()
	})()
	up, down := pipe(near, buffered, far, p.bounds.Idle)
	rec.attrs = append(rec.attrs, slog.Int64("sent", up), slog.Int64("received", down))
	if pass.ctx.Err() != nil {
		rec.cause = context.Cause(pass.ctx)
	}
}

// reach connects to the target of a tunnel, to an address that was looked at: a name that
// is resolved again may point elsewhere.
func (p *Proxy) reach(ctx context.Context, authority string) (net.Conn, *answer) {
	forbidden := func(err error) *answer {
		return &answer{status: http.StatusForbidden, kind: kindRefused, text: "The proxy does not allow this host: " + err.Error() + ".", cause: err}
	}
	t, err := parseTarget(authority)
	if err != nil {
		return nil, forbidden(err)
	}
	ctx, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	addresses, err := p.gate.addresses(ctx, t)
	switch {
	case errors.Is(err, errNotAllowed), errors.Is(err, errPrivate):
		return nil, forbidden(err)
	case err != nil:
		return nil, &answer{status: http.StatusBadGateway, kind: kindInternal, text: "The proxy cannot find the host.", cause: err}
	}
	conn, err := dialFirst(ctx, addresses)
	if err != nil {
		return nil, &answer{status: http.StatusBadGateway, kind: kindInternal, text: "The proxy cannot reach the host.", cause: err}
	}
	return conn, nil
}

// dialFirst connects to the first address that answers.
func dialFirst(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error) {
	var errs []error
	for _, a := range addresses {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no address answers: %w", errors.Join(errs...))
}

// pipe copies both ways until both sides have ended, one has failed, or nothing came for
// too long. first holds the bytes of near that were read already.
func pipe(near net.Conn, first io.Reader, far net.Conn, idle time.Duration) (up, down int64) {
	var last atomic.Int64
	touch := func() {
		now := time.Now()
		if last.Swap(now.Unix()) == now.Unix() { // once a second is enough
			return
		}
		_ = near.SetDeadline(now.Add(idle))
		_ = far.SetDeadline(now.Add(idle))
	}
	touch()
	var both sync.WaitGroup
	copyOne := func(to net.Conn, from io.Reader, n *int64) {
		buffer := make([]byte, 32<<10)
		for {
			read, err := from.Read(buffer)
			if read > 0 {
				touch()
				if _, failed := to.Write(buffer[:read]); failed != nil {
					err = failed
				} else {
					*n += int64(read)
				}
			}
			if errors.Is(err, io.EOF) {
				if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
					return
				}
			}
			if err != nil {
				_ = near.Close()
				_ = far.Close()
				return
			}
		}
	}
	both.Go(func() { copyOne(far, first, &up) })
	both.Go(func() { copyOne(near, far, &down) })
	both.Wait()
	return up, down
}
