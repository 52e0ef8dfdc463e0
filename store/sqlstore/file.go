package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrMoved means that the file of an SQLite database is no longer where it was opened:
// it was moved, removed, or replaced by another one, such as a copy that was restored.
// The next process that opens the database would not find writes to the old file,
// so nothing is written. Open the store again.
var ErrMoved = errors.New("the database file was moved or replaced")

// databaseFile is the file of an SQLite database that is open.
type databaseFile struct {
	path string // absolute
	info os.FileInfo
}

// openFile makes the file of a database unless there is one.
func openFile(path string) (*databaseFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &databaseFile{path, info}, nil
}

// check returns ErrMoved unless the file that was opened is still there: the same one on
// the same device. A database on a server has no file.
func (f *databaseFile) check() error {
	if f == nil {
		return nil
	}
	now, err := os.Stat(f.path)
	if err == nil && os.SameFile(f.info, now) {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %s", ErrMoved, f.path)
}

// fileConnector connects to the file that was opened first, and to no other that has its
// name now: a connection stays in the pool when the file is back.
type fileConnector struct {
	driver driver.Driver
	dsn    string
	file   *databaseFile
}

// Connect implements [driver.Connector].
func (c *fileConnector) Connect(context.Context) (driver.Conn, error) {
	if err := c.file.check(); err != nil {
		return nil, err
	}
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	if err := c.file.check(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements [driver.Connector].
func (c *fileConnector) Driver() driver.Driver { return c.driver }
