package check

import "mandate/conformance/target"

// OptionalAPI returns the target's API; its URL is "" if the target names none. The check does not depend on it.
func (t *T) OptionalAPI() target.API { return t.server.Target.API }
