package config

// kindDynamo is the kind of store that several processes may share. Such a store does not record
// changes by arrival, by default.
const kindDynamo = "dynamodb"

// IsShared reports whether several processes may write to the store.
func (c *Config) IsShared() bool { return c.Store.Kind == kindDynamo }

// Indexed returns the function that reports whether the changes of a stream are recorded by arrival.
func (c *Config) Indexed() func(stream string) bool {
	set := map[string]bool{}
	for name, s := range c.Streams {
		if s.Arrivals != "" {
			set[name] = s.Arrivals == "true"
		}
	}
	byDefault := !c.IsShared()
	return func(stream string) bool {
		if on, ok := set[stream]; ok {
			return on
		}
		return byDefault
	}
}

// IndexesAny reports whether the changes of some streams are recorded by arrival.
func (c *Config) IndexesAny() bool {
	for _, s := range c.Streams {
		if s.Arrivals == "true" {
			return true
		}
	}
	return !c.IsShared()
}
