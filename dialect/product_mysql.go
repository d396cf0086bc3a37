package dialect

const (
	tidbRandom = "TiDB manual, AUTO_RANDOM"
	tidbLocks  = "TiDB manual, Pessimistic transaction mode"

	vitessShards  = "Vitess manual v22, Vindexes"
	vitessCommit  = "Vitess manual v22, Distributed transactions"
	vitessNumbers = "Vitess manual, Sequences"
)

// spread is the cure for rising keys on TiDB.
const spread = "take kind: uuidv4; or scatter on a plain BIGINT; or an AUTO_RANDOM column with source: identity"

var tiDB = Product{
	Name: "tidb", Title: "TiDB", Family: FamilyMySQL,
	// VERSION() can be configured. MySQL answers with error 1305, which ends no transaction.
	Signs: []Sign{{"SELECT tidb_version()", "Release Version", "TiDB manual, Deploy from binary: tidb_version() is \"Release Version: v3.0.0-beta.1-154-gd5afff70c …\""}},
	Advice: [Uses]Advice{
		UseRandom:    {FitYes, "a hotspot comes from consecutive keys", "", tidbRandom},
		UseTime:      {FitHot, "consecutive keys go to one node", spread, tidbRandom},
		UseScattered: {FitYes, "permuted integers are not consecutive; the column is a plain BIGINT, since AUTO_RANDOM refuses a key of the INSERT", "", tidbRandom},
		UseRising:    {FitHot, "consecutive keys go to one node", spread, tidbRandom},
		UseJoined:    {FitCare, "a lock may be lost where a node fails, and the COMMIT then fails", "try the transaction again after such an error", tidbLocks},
		UseGreatest: {FitCare, "there are no gap locks: an INSERT without keyfill is not held back",
			"say unique for the column, and let all INSERTs come through keyfill; or take kind: scatter", tidbLocks},
		UseIdentity: {FitYes, "AUTO_RANDOM spreads keys over the nodes", "", tidbRandom},
	},
}

var vitess = Product{
	Name: "vitess", Title: "Vitess", Family: FamilyMySQL,
	// The version that vtgate reports can be configured.
	Signs: []Sign{
		{"SELECT VERSION()", "-Vitess", "vtgate's flag --mysql-server-version, such as 8.0.40-Vitess"},
		{"SHOW vitess_shards", "/", "Vitess manual, MySQL extensions: SHOW vitess_shards lists \"commerce/0\""},
	},
	Advice: [Uses]Advice{
		UseRandom:    {FitYes, "the primary vindex chooses a row's shard", "", vitessShards},
		UseTime:      {FitCare, "the primary vindex chooses a row's shard: one that hashes spreads rising keys", "take a vindex that hashes, if the key is the sharding key", vitessShards},
		UseScattered: {FitYes, "the primary vindex chooses a row's shard", "", vitessShards},
		UseRising:    {FitCare, "the primary vindex chooses a row's shard: one that hashes spreads rising keys", "take a vindex that hashes, if the key is the sharding key", vitessShards},
		UseJoined:    {FitCare, "a COMMIT over several shards may be done in part", "keep keyfill_sequences on the shard of the rows; or set transaction_mode = 'twopc'", vitessCommit},
		UseGreatest:  {FitCare, "a COMMIT over several shards may be done in part, and the lock is one shard's", "keep the table on one shard; or take kind: sequence", vitessCommit},
		UseNative:    {FitNo, "keyfill does not draw from sequences of Vitess", "take kind: identity, with the sequence in the VSchema", vitessNumbers},
		UseIdentity:  {FitYes, "a sequence of the VSchema fills a column that the INSERT leaves out", "", vitessNumbers},
	},
}

var auroraMySQL = Product{
	Name: "aurora-mysql", Title: "Aurora MySQL", Family: FamilyMySQL,
	Signs: []Sign{{"SELECT @@aurora_version", ".", "Aurora user guide, Aurora MySQL version numbers: @@aurora_version is \"3.05.2\""}},
}
