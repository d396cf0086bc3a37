package keysource

// OrdinalOf is [SnowflakeOptions].Ordinal for a host of that name.
func OrdinalOf(host string, limit int) (int, error) { return ordinalOf(host, limit) }
