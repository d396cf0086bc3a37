package dialect

const askVersion = "SELECT version()"

// The pages and issues that were read. A page without a version has none.
const (
	cockroachUUID  = "github.com/cockroachdb/docs/pull/20031 (manual from v24.1 on)"
	cockroachHash  = "CockroachDB manual v25.3, Hash-sharded indexes"
	cockroachTypes = "github.com/cockroachdb/cockroach/pull/96828 and issue 108657"
	cockroachLocks = "github.com/cockroachdb/cockroach/issues/13546 and pull request 168353"

	yugabyteLocks = "YugabyteDB manual, Explicit locking (stable)"
	yugabyteKeys  = "yugabytedb.tips/choosing-the-right-primary-key-to-avoid-write-hotspots/"
	yugabyteCache = "yugabyte.com/blog/create-database-sequences"

	dsqlConcurrency = "Aurora DSQL user guide, Concurrency control"
	dsqlSequence    = "Aurora DSQL user guide, CREATE SEQUENCE"
	dsqlIdentity    = "Aurora DSQL user guide, Identity columns"
	dsqlMissing     = "Aurora DSQL user guide, Unsupported PostgreSQL features"
	dsqlBlog        = "aws.amazon.com/blogs/database/working-with-identity-columns-and-sequences-in-aurora-dsql"

	spannerKeys    = "Spanner manual, Primary key default values management"
	spannerMissing = "Spanner manual, The PostgreSQL language in Spanner"

	citusUnique = "Citus manual, Common error messages: Cannot create uniqueness constraint"
	citusLocks  = "Citus manual, Common error messages: distributed deadlock"

	auroraPage = "Aurora user guide, aurora_version"
)

// hashed is the cure for rising keys on CockroachDB.
const hashed = "take kind: uuidv4 or scatter; or make the index hash-sharded: PRIMARY KEY (id) USING HASH"

// uncollated is the cure where keyfill's tables are not made as "keyfill ddl" prints them.
const uncollated = "make the tables that keyfill ddl prints, without COLLATE"

var cockroachDB = Product{
	Name: "cockroachdb", Title: "CockroachDB", Family: FamilyPostgreSQL,
	Signs: []Sign{{askVersion, "CockroachDB", "github.com/transact-rs/sqlx/pull/1762"}},
	Advice: [Uses]Advice{
		UseRandom:    {FitYes, "the manual names UUIDs of version 4", "", cockroachUUID},
		UseTime:      {FitHot, "keys that rise end in one range, which cannot be split by load", hashed, cockroachHash},
		UseScattered: {FitCare, "permuted integers do not rise; no column is made with COLLATE \"C\", which keyfill's tables say", uncollated, cockroachTypes},
		UseRising:    {FitHot, "keys that rise end in one range, which cannot be split by load", hashed, cockroachHash},
		UseJoined:    {FitCare, "no column is made with COLLATE \"C\", which keyfill's tables say", uncollated, cockroachTypes},
		UseGreatest: {FitCare, "session advisory locks exclude no other session, and the lock of a transaction, which keyfill takes, is in versions of 2026 on only",
			"see what keyfill check says of the lock; or take kind: sequence", cockroachLocks},
		UseNative: {FitHot, "keys of an ordered sequence end in one range", hashed, cockroachHash},
	},
}

// ranged is the cure for rising keys on YugabyteDB.
const ranged = "leave ASC and DESC out of the primary key; or take kind: uuidv4 or scatter"

var yugabyteDB = Product{
	Name: "yugabytedb", Title: "YugabyteDB", Family: FamilyPostgreSQL,
	Signs: []Sign{{askVersion, "-YB-", "YugabyteDB manual, ysqlsh: version() is \"PostgreSQL 11.2-YB-2.5.1.0-b0 on …\""}},
	Advice: [Uses]Advice{
		UseRandom:    {FitYes, "a primary key is sharded by its hash unless it says ASC or DESC", "", yugabyteKeys},
		UseTime:      {FitCare, "a primary key is sharded by its hash by default; one of ASC or DESC puts rising keys into one tablet", ranged, yugabyteKeys},
		UseScattered: {FitYes, "permuted integers do not rise", "", yugabyteKeys},
		UseRising:    {FitCare, "a primary key is sharded by its hash by default; one of ASC or DESC puts rising keys into one tablet", ranged, yugabyteKeys},
		UseGreatest: {FitCare, "advisory locks exist from 2.25.1.0 on, and a flag of the cluster has to allow them",
			"see what keyfill check says of the lock; or take kind: sequence", yugabyteLocks},
		UseNative: {FitCare, "a connection or a server may cache numbers of a sequence", "look at the cache of the sequence; or take kind: sequence", yugabyteCache},
	},
}

var auroraDSQL = Product{
	Name: "dsql", Title: "Aurora DSQL", Family: FamilyPostgreSQL,
	Signs: []Sign{{"SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'sys' AND c.relname = 'iam_pg_role_mappings'",
		"sys.iam_pg_role_mappings", "Aurora DSQL user guide, database roles and IAM: the table sys.iam_pg_role_mappings; System tables: pg_class and pg_namespace can be read"}},
	Advice: [Uses]Advice{
		UseRandom:    {FitYes, "UUIDs are recommended for primary keys", "", dsqlBlog},
		UseScattered: {FitCare, "there are no locks: of two processes that take a block at once, one fails at its COMMIT", "take large blocks (min_block:)", dsqlConcurrency},
		UseRising:    {FitCare, "there are no locks: of two processes that take a block at once, one fails at its COMMIT", "take large blocks (min_block:)", dsqlConcurrency},
		UseJoined: {FitCare, "there are no locks and no savepoints: of two transactions that draw from one state, one fails at its COMMIT",
			"try the whole transaction again after such an error; or take numbers that are not joined", dsqlConcurrency + "; " + dsqlMissing},
		UseGreatest: {FitNo, "there are no locks that would make a second session wait", "take kind: uuidv4, or identity", dsqlConcurrency},
		UseNative:   {FitCare, "a sequence has to say CACHE 1 or a CACHE of 65536 and more", "take CACHE 1, which keyfill needs", dsqlSequence},
		UseIdentity: {FitYes, "GENERATED AS IDENTITY with CACHE 1, or of 65536 and more", "", dsqlIdentity},
	},
}

var spanner = Product{
	Name: "spanner", Title: "Spanner", Family: FamilyPostgreSQL,
	Signs: []Sign{{"SELECT schema_name FROM information_schema.schemata WHERE lower(schema_name) = 'spanner_sys'",
		"spanner_sys", "Spanner manual, Information schema for PostgreSQL-dialect databases"}},
	Advice: [Uses]Advice{
		UseRandom:    {FitYes, "the manual recommends UUIDs of version 4", "", spannerKeys},
		UseTime:      {FitHot, "keys that do not spread over the key space make a hotspot", "take kind: uuidv4 or scatter", spannerKeys},
		UseScattered: {FitYes, "permuted integers spread, as the manual's bit-reversed ones do", "", spannerKeys},
		UseRising:    {FitHot, "keys that do not spread over the key space make a hotspot", "take kind: uuidv4 or scatter", spannerKeys},
		UseJoined:    {FitCare, "SAVEPOINT is not supported", "leave savepoints out of transactions with joined numbers", spannerMissing},
		UseGreatest:  {FitNo, "fine-grained concurrency control is not supported", "take kind: uuidv4, or scatter", spannerMissing},
		UseNative:    {FitNo, "a sequence gives bit-reversed integers, not blocks", "take kind: identity", spannerKeys},
		UseIdentity:  {FitYes, "a default makes UUIDs or bit-reversed integers", "", spannerKeys},
	},
}

// ofShard is the cure for keys that Citus does not find twice.
const ofShard = "distribute the table by the key column, or make the primary key of the distribution column and the key"

var citus = Product{
	Name: "citus", Title: "Citus", Family: FamilyPostgreSQL,
	Signs: []Sign{{"SELECT extname FROM pg_catalog.pg_extension WHERE extname = 'citus'", "citus", "Citus manual, Common error messages: psql's \\dx lists the extension"}},
	Advice: [Uses]Advice{
		UseRandom:    {FitCare, "a unique index has to hold the distribution column, so that no index finds a key that is there twice", ofShard, citusUnique},
		UseTime:      {FitCare, "a unique index has to hold the distribution column, so that no index finds a key that is there twice", ofShard, citusUnique},
		UseScattered: {FitCare, "a unique index has to hold the distribution column, so that no index finds a key that is there twice", ofShard, citusUnique},
		UseRising:    {FitCare, "a unique index has to hold the distribution column, so that no index finds a key that is there twice", ofShard, citusUnique},
		UseJoined:    {FitCare, "a deadlock over several nodes is found, and one transaction is cancelled", "try the transaction again after such an error", citusLocks},
		UseGreatest:  {FitNo, "a unique index has to hold the distribution column, and maxplusone needs one that finds a key twice", "take kind: sequence; or say scope: with the distribution column", citusUnique},
	},
}

var auroraPostgreSQL = Product{
	Name: "aurora-postgresql", Title: "Aurora PostgreSQL", Family: FamilyPostgreSQL,
	Signs: []Sign{{"SELECT proname FROM pg_catalog.pg_proc WHERE proname = 'aurora_version'", "aurora_version", auroraPage}},
}
