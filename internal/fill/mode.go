package fill

import (
	"os"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/policy"
)

// modeVariable is the environment variable that sets the mode (fill, dry_run or off) of
// every database when it is opened.
const modeVariable = "KEYFILL_MODE"

// ModeFromEnvironment sets the mode that $KEYFILL_MODE names. Without the variable, the
// policy's mode stays.
func (db *Database) ModeFromEnvironment() error {
	name, ok := os.LookupEnv(modeVariable)
	if !ok || name == "" {
		return nil
	}
	mode, err := policy.ParseMode(name)
	if err != nil {
		return anchor.Errorf("policy", "keyfill: $%s: %w", modeVariable, err)
	}
	db.Mode.Store(uint32(mode))
	return nil
}
