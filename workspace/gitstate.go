package workspace

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// gitState is the part of a worktree's snapshot beside its files. All names of objects
// come from git.
type gitState struct {
	Base string `json:"base"` // the commit at which the branch began, which every machine has
	Tip  string `json:"tip"`  // of the branch
	Head string `json:"head"` // what is checked out
	// Detached means that Head is not checked out as the branch.
	Detached bool `json:"detached,omitzero"`
	// Staged is the tree of git's index. Empty: there is none, as in a merge with conflicts.
	Staged string    `json:"staged,omitzero"`
	Packs  []gitPack `json:"packs,omitzero"` // together, everything above that Base does not have
	// Unread are files that git tracks and that could not be read: they arrive as Staged, or
	// else Head, has them.
	Unread []string `json:"unread,omitzero"`
}

// gitPack is a pack of git. It is complete together with Base and those before it.
type gitPack struct {
	// Objects are the commits and trees for which the pack was made.
	Objects []string `json:"objects"`
	Size    int64    `json:"size"`
	Chunks  []string `json:"chunks"`
}

func (s *gitState) equal(other *gitState) bool { return reflect.DeepEqual(s, other) }

// maxPacks is after how many packs all of them become one.
const maxPacks = 32

// lacks returns the objects that need a new pack, and the packs that stay. headTree is the
// tree of Head, baseTree that of Base.
func (s *gitState) lacks(headTree, baseTree string, last *gitState) (objects []string, keep []gitPack) {
	if last != nil && last.Base == s.Base {
		keep = last.Packs
	}
	have := []string{"", s.Base, baseTree}
	for _, p := range keep {
		have = append(have, p.Objects...)
	}
	for _, object := range []string{s.Tip, s.Head, s.Staged} {
		if slices.Contains(have, object) || object == s.Staged && object == headTree {
			continue
		}
		objects, have = append(objects, object), append(have, object)
	}
	if len(objects) > 0 && len(keep) >= maxPacks {
		return s.lacks(headTree, baseTree, nil)
	}
	return objects, keep
}

// gitDir is where git has its folder, or the file that names it. Below it a list of files
// has the state of a worktree, where no file of the worktree can be.
const (
	gitDir     = ".git"
	gitStateAt = gitDir + "/state" // the JSON form of a gitState
	gitPacksAt = gitDir + "/packs" // the chunks of all packs, so that they count as used
)

// withGit puts a state, and returns the list of files with it.
func withGit(ctx context.Context, files []entry, s *gitState, p *putter) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	state := entry{Path: gitStateAt, Size: int64(len(text))}
	for part := range slices.Chunk(text, MaxBlob) {
		name, err := p.put(ctx, part)
		if err != nil {
			return nil, err
		}
		state.Chunks = append(state.Chunks, name)
	}
	packs := entry{Path: gitPacksAt}
	for _, pack := range s.Packs {
		packs.Size += pack.Size
		packs.Chunks = append(packs.Chunks, pack.Chunks...)
	}
	all := append(slices.Clone(files), entry{Path: gitDir, Mode: fs.ModeDir | 0o700}, packs, state)
	slices.SortFunc(all, func(a, b entry) int {
		if before(a.name(), b.name()) {
			return -1
		}
		return 1
	})
	return encodeManifest(all)
}

// splitGit is the way back: the files of a list, and the state.
func (s *Snapshots) splitGit(ctx context.Context, all []entry) (files []entry, state *gitState, err error) {
	damaged := func(what any) error {
		return fmt.Errorf("claude: workspace: state of a worktree: %v: %w", what, store.ErrDamaged)
	}
	for _, e := range all {
		if e.Object != "" && (!isObjectName(e.Object) || e.Mode.Type() != 0 || len(e.Chunks) > 0) {
			return nil, nil, damaged(fmt.Sprintf("%q is not the object of a file", e.Object))
		}
		if e.name() != gitDir && !strings.HasPrefix(e.name(), gitDir+"/") {
			files = append(files, e)
		}
		if e.name() != gitStateAt {
			continue
		}
		var text []byte
		for _, name := range e.Chunks {
			data, err := s.chunk(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			text = append(text, data...)
		}
		if err := json.Unmarshal(text, &state); err != nil {
			return nil, nil, damaged(err)
		}
	}
	if state == nil {
		return nil, nil, damaged("it is missing")
	}
	for _, name := range []string{state.Base, state.Tip, state.Head, firstNot(state.Staged, state.Head)} {
		if !isObjectName(name) {
			return nil, nil, damaged(fmt.Sprintf("%q is not an object", name))
		}
	}
	return files, state, nil
}

// isObjectName reports whether a text is the full name of an object.
func isObjectName(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && (len(text) == 2*sha1.Size || len(text) == 2*sha256.Size)
}

// isObject reports whether a file of that size is a blob of git, byte for byte: filters and
// ends of lines make another one of it.
func isObject(file io.Reader, size int64, object string) bool {
	var sum hash.Hash
	switch len(object) {
	case 2 * sha1.Size:
		sum = sha1.New()
	case 2 * sha256.Size:
		sum = sha256.New()
	default:
		return false
	}
	fmt.Fprintf(sum, "blob %d\x00", size)
	n, err := io.Copy(sum, io.LimitReader(file, size+1))
	return err == nil && n == size && hex.EncodeToString(sum.Sum(nil)) == object
}
