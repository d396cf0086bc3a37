// Package dm is empty: see go.mod.
package dm
