package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/private"
)

// objects returns the blobs of the base of a worktree by their paths: a file that is still
// the same need not travel, because every machine has it.
func (d *WorktreeDir) objects(ctx context.Context) (map[string]string, error) {
	if d.blobs != nil {
		return d.blobs, nil
	}
	out, err := d.w.gitWith(ctx, d.w.o.Repo, nil, "ls-tree", "-r", "-z", "--full-tree", d.base)
	if err != nil {
		return nil, err
	}
	d.blobs = parseTree(string(out))
	return d.blobs, nil
}

// parseTree reads the output of git ls-tree -z, and returns regular files.
func parseTree(out string) map[string]string {
	blobs := make(map[string]string)
	for line := range strings.SplitSeq(out, "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" && strings.HasPrefix(f[0], "100") {
			blobs[path] = f[2]
		}
	}
	return blobs
}

// state finds out what git has of a worktree, and puts what the last state lacks in a pack
// of at most limit bytes.
func (d *WorktreeDir) state(ctx context.Context, last *gitState, p *putter, limit int64) (*gitState, error) {
	env, err := d.w.inside(d.Path())
	if err != nil {
		return nil, err
	}
	ref := "refs/heads/" + d.branch
	names, err := d.w.resolve(ctx, env, ref, "HEAD^{commit}", "HEAD^{tree}", d.base+"^{tree}")
	if err != nil {
		return nil, err
	}
	s := &gitState{Base: d.base, Tip: names[0], Head: names[1]}
	headTree, baseTree := names[2], names[3]
	at, err := d.w.gitWith(ctx, d.w.o.Repo, env, "symbolic-ref", "--quiet", "HEAD")
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1) {
		return nil, err
	}
	s.Detached = strings.TrimSpace(string(at)) != ref
	if s.Head == "" { // a branch without a commit
		s.Head, s.Detached = firstNot(s.Tip, s.Base), false
	}
	s.Tip = firstNot(s.Tip, s.Head) // Claude may have removed the branch
	if s.Staged, err = d.staged(ctx, env); err != nil {
		return nil, err
	}
	for {
		lacks, keep := s.lacks(headTree, baseTree, last)
		if s.Packs = keep; len(lacks) == 0 {
			return s, nil
		}
		pack, err := d.pack(ctx, env, lacks, s, p, limit)
		if len(keep) > 0 && helpsToRepack(err) {
			last = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		s.Packs = append(keep[:len(keep):len(keep)], pack)
		return s, nil
	}
}

// helpsToRepack reports whether one pack of everything may succeed where a pack on top of
// others has failed: git may lack an object of before, and packs of commits that were given
// up since take up room. It does not make up for a slow network or a store that fails: there
// is even more to send.
func helpsToRepack(err error) bool {
	_, failed := errors.AsType[*exec.ExitError](err)
	_, large := errors.AsType[*BoundError](err)
	return failed || large
}

func firstNot(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// resolve returns the objects with these names, "" for those that are not there.
func (w *Worktrees) resolve(ctx context.Context, env []string, names ...string) ([]string, error) {
	out, err := w.gitFed(ctx, w.o.Repo, env, strings.NewReader(strings.Join(names, "\n")+"\n"), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(names) {
		return nil, fmt.Errorf("git cat-file: %d answers to %d questions", len(lines), len(names))
	}
	for i, l := range lines {
		if !isObjectName(l) {
			lines[i] = ""
		}
	}
	return lines, nil
}

// staged returns the tree of git's index, "" if it has conflicts. It works on a copy: git
// would write to the index.
func (d *WorktreeDir) staged(ctx context.Context, env []string) (string, error) {
	admin, err := d.w.admin(d.Path())
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(admin, "index"))
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	temp, err := private.MkdirTemp(os.TempDir(), "claude-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	copied := filepath.Join(temp, "index")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		return "", err
	}
	out, err := d.w.gitWith(ctx, d.w.o.Repo, append(env[:len(env):len(env)], "GIT_INDEX_FILE="+copied), "write-tree")
	if _, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return "", nil // git cannot write it as a tree
	}
	return strings.TrimSpace(string(out)), err
}

// pack puts a pack of what these objects have, and Base and the packs of s have not.
func (d *WorktreeDir) pack(ctx context.Context, env, objects []string, s *gitState, p *putter, limit int64) (gitPack, error) {
	var revisions bytes.Buffer
	for _, o := range objects {
		fmt.Fprintln(&revisions, o)
	}
	fmt.Fprintln(&revisions, "^"+s.Base)
	for _, pack := range s.Packs {
		limit -= pack.Size
		for _, o := range pack.Objects {
			fmt.Fprintln(&revisions, "^"+o)
		}
	}
	ctx, patience, cancel := d.w.patient(ctx)
	defer cancel()
	args := []string{"pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"}
	cmd := gitCommand(ctx, d.w.o.Repo, env, args)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = &revisions, &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return gitPack{}, gitError(ctx, args, err, "")
	}
	pack := gitPack{Objects: objects}
	pack.Chunks, pack.Size, err = p.stream(ctx, patientReader{out, patience}, limit)
	if err != nil {
		cancel()
		_ = cmd.Wait()
		return gitPack{}, err
	}
	patience.git()
	if err := cmd.Wait(); err != nil {
		return gitPack{}, gitError(ctx, args, err, said.String())
	}
	return pack, nil
}

// patientReader reads what git writes.
type patientReader struct {
	r io.Reader
	*patience
}

func (r patientReader) Read(b []byte) (int, error) {
	r.git()
	defer r.rest()
	return r.r.Read(b)
}

// stream stores the chunks of a reader, at most limit bytes.
func (p *putter) stream(ctx context.Context, r io.Reader, limit int64) (chunks []string, size int64, err error) {
	part := make([]byte, MaxBlob)
	for {
		n, err := io.ReadFull(r, part)
		if n > 0 {
			if size += int64(n); size > limit {
				return nil, 0, &BoundError{"bytes", p.s.MaxBytes, "the commits of the branch"}
			}
			name, err := p.put(ctx, part[:n])
			if err != nil {
				return nil, 0, err
			}
			chunks = append(chunks, name)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return chunks, size, nil
		case err != nil:
			return nil, 0, err
		}
	}
}
