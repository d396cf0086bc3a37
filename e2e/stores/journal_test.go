package stores_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// What a record of a journal says.
const (
	drawn  = 'd' // keys were given out, whatever became of them
	stored = 's' // their rows are there
	probed = 'p' // a probe has ended well: see worker.probe
)

// record is what a process notes after the fact: what is in a journal was so, but not all
// that was so is in it.
type record struct {
	What, Kind   uint8
	_            uint16
	Keys         uint32 // how many keys follow each other
	Draw         int64  // the number of the draw, or of the probe
	First        int64  // the first of the keys
	Began, Ended int64  // in nanoseconds since 1970, by the machine's clock
}

var recordSize = int64(binary.Size(record{}))

// journal is two files of a process: the records, and the errors as lines of text.
type journal struct {
	records *os.File

	mu     sync.Mutex // guards errors
	errors *os.File
}

func openJournal(path string) (*journal, error) {
	const flags = os.O_CREATE | os.O_APPEND | os.O_WRONLY
	records, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	text, err := os.OpenFile(path+".errors", flags, 0o600)
	return &journal{records: records, errors: text}, err
}

// write writes records by one call, of which SIGKILL leaves all, or the beginning.
func (j *journal) write(all ...record) {
	if len(all) == 0 {
		return
	}
	var b bytes.Buffer
	err := binary.Write(&b, binary.LittleEndian, all)
	if err == nil {
		_, err = j.records.Write(b.Bytes())
	}
	if err != nil {
		panic(err) // ends a process that is of no more use
	}
}

// law begins the line of an error that reports a broken law.
const law = "LAW: "

// fail notes an error.
func (j *journal) fail(text string) {
	line := time.Now().UTC().Format("15:04:05.000 ") + strings.ReplaceAll(text, "\n", " ") + "\n"
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.errors.WriteString(line); err != nil {
		panic(err)
	}
}

// reader reads what a process has written so far.
type reader struct {
	path    string
	offset  int64
	records []record
}

// read reads what was added, as far as it is whole.
func (r *reader) read() error {
	file, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the process has not come so far
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(r.offset, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	added := make([]record, int64(len(text))/recordSize)
	if err := binary.Read(bytes.NewReader(text), binary.LittleEndian, added); err != nil {
		return err
	}
	r.offset += int64(len(added)) * recordSize
	r.records = append(r.records, added...)
	return nil
}

// failures returns the lines about errors.
func (r *reader) failures() ([]string, error) {
	text, err := os.ReadFile(r.path + ".errors")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines, err
}
