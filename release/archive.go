package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

// tarOf returns an archive for tar, compressed by gzip. All files have the same time, and
// no owner.
func tarOf(content []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression) // the header of gzip holds no name and no time, so that the bytes are the same each time
	if err != nil {
		return nil, err
	}
	files := tar.NewWriter(packed)
	for _, e := range content {
		head := tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := files.WriteHeader(&head); err != nil {
			return nil, err
		}
		if _, err := files.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipOf returns an archive for Windows. All files have the same time, in UTC.
func zipOf(content []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	files := zip.NewWriter(&b)
	for _, e := range content {
		head := zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		head.SetMode(e.mode)
		w, err := files.CreateHeader(&head)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
