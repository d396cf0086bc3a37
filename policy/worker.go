package policy

import "time"

var workerField = of("worker", "The number of this process among all that fill the table; for a composite from 0 to 999."+otherNumber,
	optional(atLeast(0)), func(s *Source) **int { return &s.Worker }).as(3)

var workerEnvField = of("worker_env", "The environment variable that holds the worker's number."+otherNumber,
	text.matching(variablePattern), func(s *Source) *string { return &s.WorkerEnv }).as("APP_WORKER")

var workerOrdinalField = of("worker_ordinal", "Whether the worker's number is the number in which the host's name ends, as in web-0.",
	boolean, func(s *Source) *bool { return &s.WorkerOrdinal }).byDefault(false).as(true)

var workerLeaseField = of("worker_lease", "How long the worker's number is leased from the store without saying so again, from 5s to 1h."+otherNumber,
	durationShape, func(s *Source) *time.Duration { return &s.WorkerLease }).as("30s")

// workerFields returns the names of the fields of s that give the worker's number.
// Exactly one has to be set.
func workerFields(s Source) []string {
	return given(s, workerField, workerEnvField, workerOrdinalField, workerLeaseField, spreadField)
}

// checkWorker checks the fields that give the worker's number. The environment and the
// host's name are read when a database is opened.
func checkWorker(m *mistakes, p place, s Source) {
	given := workerFields(s)
	switch {
	case given == nil && s.Kind == KindComposite:
		m.wrong(p, "a composite begins with the number of its worker or another spread: say worker_env, worker_ordinal, worker_lease, worker or spread, as in {kind: composite, worker_env: APP_WORKER}")
	case given == nil:
		m.wrong(p, "a snowflake needs the number of its worker: say worker_env, worker_ordinal, worker_lease or worker, as in {kind: snowflake, worker_env: APP_WORKER}")
	case len(given) > 1:
		m.wrong(p.in(given[1]), "%s says it already; take one", given[0])
	case s.WorkerLease != 0 && (s.WorkerLease < minWorkerLease || s.WorkerLease > maxLease):
		m.wrong(p.in("worker_lease"), "%v is not from %v to %v", s.WorkerLease, minWorkerLease, maxLease)
	case s.WorkerLease != 0 && s.Store == StoreNone:
		m.wrong(p.in("worker_lease"), "a number is leased in a store, and there is none; leave out store, or say worker_env, worker_ordinal or worker")
	case s.WorkerEnv != "" && !variableName.MatchString(s.WorkerEnv):
		m.wrong(p.in("worker_env"), "%s", variableMessage)
	case s.Worker != nil:
		if _, err := s.SnowflakeOptions().Number(); err != nil {
			m.wrongField(p.in("worker"), reason(err))
		}
	}
}

const otherNumber = " Left out, another field gives the number."

// minWorkerLease is the least worker_lease. It is longer than minLease, the least lease of
// a recycled source, since leasing a worker's number takes several round trips.
const minWorkerLease = 5 * time.Second
