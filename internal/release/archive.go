package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"

	"github.com/claude-agent-go/claude/internal/release/platform"
)

// entry is a file of an archive.
type entry struct {
	name string
	data []byte
	mode fs.FileMode
}

func archiveSuffix(system platform.Platform) string {
	if system.OS == "windows" {
		return ".zip"
	}
	return ".tar.gz"
}

// pack makes an archive with the entries in a folder, in the form that people of the
// system can open. It depends on nothing but its arguments.
func pack(system platform.Platform, folder string, when time.Time, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	if archiveSuffix(system) == ".zip" {
		err := packZip(&b, folder, when, entries)
		return b.Bytes(), err
	}
	err := packTar(&b, folder, when, entries)
	return b.Bytes(), err
}

func packTar(b *bytes.Buffer, folder string, when time.Time, entries []entry) error {
	squeezed, err := gzip.NewWriterLevel(b, gzip.BestCompression) // its header has no time unless it is set
	if err != nil {
		return err
	}
	w := tar.NewWriter(squeezed)
	for _, e := range entries {
		head := &tar.Header{Name: folder + "/" + e.name, Mode: int64(e.mode), Size: int64(len(e.data)), ModTime: when, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(head); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return squeezed.Close()
}

func packZip(b *bytes.Buffer, folder string, when time.Time, entries []entry) error {
	w := zip.NewWriter(b)
	for _, e := range entries {
		head := &zip.FileHeader{Name: folder + "/" + e.name, Method: zip.Deflate, Modified: when}
		head.SetMode(e.mode)
		f, err := w.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}
