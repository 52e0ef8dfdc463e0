package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"time"
)

// sshServer is an ssh server on loopback, for the user of this process.
type sshServer struct {
	dir  string
	self string // this program
	host string
	args []string // of the client
	end  func() error
}

// sshBound is how long the server may take to listen.
const sshBound = 10 * time.Second

func startSSH(ctx context.Context) (s *sshServer, err error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	s = &sshServer{host: me.Username + "@127.0.0.1", end: func() error { return nil }}
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "bench-ssh-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	key, host := filepath.Join(s.dir, "key"), filepath.Join(s.dir, "host")
	for _, file := range []string{key, host} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	pam := "no"
	if os.Getuid() == 0 {
		pam = "yes"
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where sshd drops its rights
			return nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("ListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nUsePAM %s\nPidFile none\n", address, host, key, pam)
	if err := os.WriteFile(filepath.Join(s.dir, "config"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	server := exec.Command("/usr/sbin/sshd", "-D", "-f", filepath.Join(s.dir, "config"))
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("the package openssh-server is needed: %w", err)
	}
	s.end = func() error {
		err := server.Process.Kill()
		_ = server.Wait() // it was killed
		return err
	}
	s.args = []string{
		"-p", strconv.Itoa(address.Port), "-i", key, "-F", "none",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR",
	}
	return s, s.listens(ctx, address.String())
}

// listens waits until the server takes connections.
func (s *sshServer) listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, sshBound)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the ssh server does not listen: %w", err)
		}
	}
}

// close ends the server.
func (s *sshServer) close() error { return errors.Join(s.end(), os.RemoveAll(s.dir)) }
