package testdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// preparedVariable names a folder in which test binaries share data folders that were just
// filled: the first server of an engine leaves a copy of its data folder there, and later
// servers start with that copy. Every user may write into it. Its creator removes it.
const preparedVariable = "KEYFILL_TEST_PREPARED"

// copyPrepared copies the prepared data folder. If there is none, it prepares one.
func (l *local) copyPrepared(folder string) error {
	// Two versions of an engine have programs of the same name in folders of their own.
	program := l.engine.files.install(l)[0]
	version := filepath.Base(filepath.Dir(filepath.Dir(program)))
	prepared := filepath.Join(folder, version+"-"+filepath.Base(program))
	lock, err := os.OpenFile(prepared+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", preparedVariable, err)
	}
	defer lock.Close() // closing the file releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", preparedVariable, err)
	}
	_, err = os.Stat(prepared)
	if err == nil {
		return l.copy(prepared, l.data)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := l.finish("filling the data folder", l.engine.files.install(l)); err != nil {
		return err
	}
	// The copy gets its name when it is complete: a killed process leaves half a copy.
	half := prepared + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := l.copy(l.data, half); err != nil {
		return err
	}
	return os.Rename(half, prepared)
}

// copy copies a data folder of a server that does not run.
func (l *local) copy(from, to string) error {
	return l.finish("copying the data folder", []string{"cp", "-a", from, to})
}
