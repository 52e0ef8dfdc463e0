package s3store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Blobs keeps the contents of working folders in a bucket: see
// [workspace.SnapshotOptions]. Its methods may be called from any goroutine, and by
// several processes at once.
//
// A bucket cannot remove an object on the condition that it is still the old one. So each
// Put that writes makes an object with a name of its own, below that of the chunk, and
// Delete removes only objects that it has seen to be old: what is put meanwhile stays.
type Blobs struct{ objects *objects }

var _ workspace.Blobs = (*Blobs)(nil)

// NewBlobs returns blobs in a bucket. The names of its objects begin with prefix, which
// may be "" and may be that of a [Store]. The server needs no conditional writes for
// them. What a newer version of this package has laid out is refused with
// [store.ErrNewer].
func NewBlobs(client *s3.Client, bucket, prefix string) *Blobs {
	return &Blobs{&objects{s3: client, bucket: bucket, prefix: prefix}}
}

const (
	// blobFolder has the chunks. A project does not begin so.
	blobFolder = "-blobs/"
	// freshFor is how long a chunk that is put again is not written again. spareFor is how
	// much older than it is told List and Delete want a chunk to be: a Put may have relied
	// on an object that is freshFor older, and clocks differ, though by less than the
	// quarter of an hour from which S3 refuses a client.
	freshFor = 30 * time.Minute
	spareFor = time.Hour
)

// chunkFolder is where the objects of a chunk are.
func chunkFolder(name string) (string, error) {
	if _, err := hex.DecodeString(name); err != nil || len(name) != 64 {
		return "", fmt.Errorf("%q is not the name of a chunk", name)
	}
	return blobFolder + name + "/", nil
}

// chunkObject is an object that has a chunk.
type chunkObject struct {
	name     string
	modified time.Time
	size     int64
}

// chunks returns the objects of a chunk, usually one.
func (b *Blobs) chunks(ctx context.Context, name string) (found []chunkObject, err error) {
	folder, err := chunkFolder(name)
	if err != nil {
		return nil, err
	}
	for o, err := range b.objects.list(ctx, folder) {
		if err != nil {
			return nil, err
		}
		found = append(found, chunkObject{*o.Key, aws.ToTime(o.LastModified), aws.ToInt64(o.Size)})
	}
	return found, nil
}

// Put implements [workspace.Blobs]. It takes a request to look for the chunk, and one to
// write it if it is not there or older than half an hour.
func (b *Blobs) Put(ctx context.Context, name string, data []byte) error {
	return fail("chunk "+name, b.put(ctx, name, data))
}

func (b *Blobs) put(ctx context.Context, name string, data []byte) error {
	old, err := b.chunks(ctx, name)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, o := range old {
		if now.Sub(o.modified) < freshFor {
			return nil
		}
	}
	if _, err := b.objects.putRaw(ctx, blobFolder+name+"/"+rand.Text(), data, anyTag); err != nil {
		return err
	}
	for _, o := range old { // or the next Put does; a reader that looks for one finds the new one
		_ = b.objects.remove(ctx, o.name)
	}
	return nil
}

// getTries is how often Get looks again because an object that it has found is gone.
const getTries = 10

// Get implements [workspace.Blobs], with two requests.
func (b *Blobs) Get(ctx context.Context, name string) ([]byte, error) {
	for range getTries {
		found, err := b.chunks(ctx, name)
		if err == nil && len(found) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return nil, fail("chunk "+name, err)
		}
		last := found[len(found)-1]
		if last.size > workspace.MaxBlob {
			return nil, fail("chunk "+name, fmt.Errorf("%w: it has %d bytes", store.ErrDamaged, last.size))
		}
		o, err := b.objects.get(ctx, last.name)
		if !errors.Is(err, store.ErrNotFound) {
			return o.body, fail("chunk "+name, err)
		}
	}
	return nil, fail("chunk "+name, fmt.Errorf("%w: each object was gone when it was read", store.ErrNotFound))
}

// List implements [workspace.Blobs]. It also leaves out what was put in the hour before
// that time.
func (b *Blobs) List(ctx context.Context, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		name, old := "", false // the chunk that the last object was of, and whether all of its objects are old
		for o, err := range b.objects.list(ctx, blobFolder) {
			if err != nil {
				yield("", fail("chunks", err))
				return
			}
			of, _, _ := strings.Cut(strings.TrimPrefix(*o.Key, blobFolder), "/")
			if of != name {
				if old && !yield(name, nil) {
					return
				}
				name, old = of, true
			}
			old = old && aws.ToTime(o.LastModified).Before(before.Add(-spareFor))
		}
		if old {
			yield(name, nil)
		}
	}
}

// Delete implements [workspace.Blobs]. Like List, it leaves what was put in the hour
// before that time.
func (b *Blobs) Delete(ctx context.Context, name string, before time.Time) error {
	found, err := b.chunks(ctx, name)
	for _, o := range found {
		if o.modified.Before(before.Add(-spareFor)) {
			err = cmp.Or(err, b.objects.remove(ctx, o.name))
		}
	}
	return fail("chunk "+name, err)
}
