package s3store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// objects are those of a bucket whose names begin with a prefix. They are read and
// written by compare-and-set.
type objects struct {
	s3     *s3.Client
	bucket string
	prefix string

	probed  atomic.Bool // the server honours conditions
	checked atomic.Bool // the layout is one that this program knows
}

// errTaken means that a condition of a write does not hold. After a reply that
// was lost, the object may be our own.
var errTaken = errors.New("another writer was faster")

// object is a stored object, and the server's time when it was read.
type object struct {
	body     []byte
	etag     string
	modified time.Time
	now      time.Time // the server's time when it was read
}

// layoutObject has the version of the layout of the bucket. A project does not begin so.
const (
	layoutObject  = "-layout"
	layoutVersion = 1
)

// layout refuses a bucket that a newer program has laid out. A bucket without a version
// has the first one.
func (s *objects) layout(ctx context.Context) error {
	if s.checked.Load() {
		return nil
	}
	o, err := s.getRaw(ctx, layoutObject)
	if err == nil {
		err = storeimpl.CheckLayout(string(o.body), layoutVersion)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	s.checked.Store(err == nil)
	return err
}

// get reads an object, or returns [store.ErrNotFound].
func (s *objects) get(ctx context.Context, name string) (object, error) {
	if err := s.layout(ctx); err != nil {
		return object{}, err
	}
	return s.getRaw(ctx, name)
}

func (s *objects) getRaw(ctx context.Context, name string) (object, error) {
	out, err := s.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
	if err != nil {
		return object{}, plain(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return object{}, err
	}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		now = time.Now()
	}
	return object{body, aws.ToString(out.ETag), aws.ToTime(out.LastModified), now}, nil
}

// getJSON reads an object that this package wrote.
func (s *objects) getJSON(ctx context.Context, name string, v any) (object, error) {
	o, err := s.get(ctx, name)
	if err == nil && json.Unmarshal(o.body, v) != nil {
		err = fmt.Errorf("%w: %s is not what it should be", store.ErrDamaged, name)
	}
	return o, err
}

// anyTag lets put write in any case.
const anyTag = "*"

// put writes an object and returns its tag. It replaces the object with the tag
// over; "" means that none may exist, and anyTag any object or none. If the
// condition does not hold, it returns errTaken.
func (s *objects) put(ctx context.Context, name string, body []byte, over string) (etag string, err error) {
	if err := s.probe(ctx); err != nil {
		return "", err
	}
	return s.putRaw(ctx, name, body, over)
}

func (s *objects) putRaw(ctx context.Context, name string, body []byte, over string) (etag string, err error) {
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name), Body: bytes.NewReader(body)}
	switch over {
	case "":
		in.IfNoneMatch = aws.String("*")
	case anyTag:
	default:
		in.IfMatch = &over
	}
	out, err := s.s3.PutObject(ctx, in)
	if err = plain(err); errors.Is(err, store.ErrNotFound) && in.IfMatch != nil {
		err = errTaken // what should be replaced is gone
	}
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

// putJSON is put for an object that this package reads.
func (s *objects) putJSON(ctx context.Context, name string, v any, over string) (etag string, err error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return s.put(ctx, name, body, over)
}

// probe makes sure once that the server honours conditions.
func (s *objects) probe(ctx context.Context) error {
	if s.probed.Load() {
		return nil
	}
	if err := s.layout(ctx); err != nil {
		return err
	}
	name := "-probe/" + rand.Text() // a project does not begin so
	defer s.remove(context.WithoutCancel(ctx), name)
	if _, err := s.putRaw(ctx, name, []byte("1"), ""); err != nil && !errors.Is(err, errTaken) {
		return err
	}
	o, err := s.get(ctx, name)
	if err != nil {
		return err
	}
	for _, over := range []string{"", `"00000000000000000000000000000000"`} {
		if _, err := s.putRaw(ctx, name, []byte("2"), over); !errors.Is(err, errTaken) {
			return cmp.Or(err, ErrUnconditional)
		}
	}
	if _, err := s.putRaw(ctx, name, []byte("3"), o.etag); err != nil {
		return fmt.Errorf("%w: a condition that holds: %w", ErrUnconditional, err)
	}
	_, err = s.putRaw(ctx, layoutObject, fmt.Append(nil, layoutVersion), "")
	if errors.Is(err, errTaken) { // another program has written one since
		s.checked.Store(false)
		err = s.layout(ctx)
	}
	if err != nil {
		return err
	}
	s.probed.Store(true)
	return nil
}

// remove removes an object.
func (s *objects) remove(ctx context.Context, name string) error {
	_, err := s.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
	return plain(err)
}

// plain makes the errors that mean something here those of this package.
func plain(err error) error {
	if _, ok := errors.AsType[*types.NoSuchBucket](err); ok {
		return err
	}
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		switch e.HTTPStatusCode() {
		case http.StatusNotFound:
			return store.ErrNotFound
		case http.StatusPreconditionFailed, http.StatusConflict:
			return errTaken
		}
	}
	return err
}

// pause waits briefly before a writer that lost a race tries again.
func pause(ctx context.Context) error {
	select {
	case <-time.After(mathrand.N(5 * time.Millisecond)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// list yields the objects whose names begin so, in order.
func (s *objects) list(ctx context.Context, prefix string) iter.Seq2[types.Object, error] {
	return func(yield func(types.Object, error) bool) {
		if err := s.layout(ctx); err != nil {
			yield(types.Object{}, err)
			return
		}
		pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(types.Object{}, plain(err))
				return
			}
			for _, o := range page.Contents {
				o.Key = aws.String(strings.TrimPrefix(aws.ToString(o.Key), s.prefix))
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// serverTime returns the time of the server, which every answer carries.
func (s *objects) serverTime(ctx context.Context) (time.Time, error) {
	one := int32(1)
	out, err := s.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix), MaxKeys: &one})
	if err != nil {
		return time.Time{}, plain(err)
	}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		return time.Time{}, errors.New("the server does not report its time")
	}
	return now, nil
}

// ahead is how many objects are read at once.
const ahead = 8

// fetch yields the bodies of objects in their order, some ahead.
func (s *objects) fetch(ctx context.Context, names []string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type answer struct {
			object
			err error
		}
		answers := make([]chan answer, len(names))
		ask := func(i int) {
			if i < len(names) {
				answers[i] = make(chan answer, 1)
				go func() {
					o, err := s.get(ctx, names[i])
					answers[i] <- answer{o, err}
				}()
			}
		}
		for i := range ahead {
			ask(i)
		}
		for i := range names {
			a := <-answers[i]
			ask(i + ahead)
			if !yield(a.body, a.err) {
				return
			}
		}
	}
}

// maxKey is how long the name of an object may be.
const maxKey = 1024

// short returns the name of an object for a name with slashes, or for its digest
// if it is too long. "!" is not a character of names, and none begins with "~".
func (s *objects) short(folder, name string) string {
	full := folder + strings.ReplaceAll(name, "/", "!")
	if len(s.prefix)+len(full) <= maxKey {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	return folder + "~" + hex.EncodeToString(sum[:])
}
