package words

// PostgreSQL is the vocabulary of PostgreSQL.
//
// Transactions: PostgreSQL 18, part VI, "SQL Commands". DDL is part of the transaction.
// What CALL and DO run may commit only if no transaction block is open, and then begins
// another transaction, which ends with the CALL or DO: "Transaction Management" of
// PL/pgSQL.
//
// Any function may call set_config, which changes settings and the search path, and may
// make tables. MarkBracket lists words that are reserved, or cannot name functions
// (appendix C), or have a bracket after them in the grammar of queries. These words and the
// functions exist in every version that keyfill supports: a word of a newer version may be
// a function of the application on an older server.
var PostgreSQL = newVocabulary(Vocabulary{
	Leaves: AllLeft,
	Calls:  TablesLeft | AnyWay | SettingsLeft,
	Path:   "search_path",
	Moving: Moving{
		Words: []string{"search_path", "set_config", "schema", "role", "authorization", "discard", "reset"},
		Ends:  []string{"commit", "end", "rollback", "abort"},
	},
	Set: SetWords{
		Scopes: []string{"local", "session"},
		Keeps:  []string{"transaction", "constraints", "characteristics", "timezone", "time", "names", "statement_timeout", "lock_timeout", "application_name"},
	},
	Define: DefineWords{
		Keeps:    []string{"table", "index", "unique", "temp", "temporary", "view", "sequence", "type", "or"},
		One:      []string{"table", "index", "sequence", "view"},
		Prefixes: []string{"unlogged", "unique"},
	},
	Numbers: []SessionNumber{{"lastval", NumberLast}, {"currval", NumberText}},
}, lists{
	effects: map[Effect]string{
		EffectNone: `select insert update delete merge with values table show explain set reset copy truncate
			grant revoke analyze analyse vacuum cluster reindex refresh declare fetch move close listen notify
			unlisten lock savepoint release deallocate discard security reassign checkpoint load import`,
		EffectDefine:   "create alter drop comment",
		EffectRun:      "call do execute",
		EffectBegin:    "begin",
		EffectStart:    "start",
		EffectEnd:      "commit end abort",
		EffectRollback: "rollback",
		EffectPrepare:  "prepare",
	},
	kinds: map[StatementKind]string{
		StatementRows:    "select update delete values",
		StatementInsert:  "insert replace",
		StatementWith:    "with",
		StatementNamed:   "copy prepare",
		StatementBegin:   "begin start",
		StatementExplain: "explain analyze",
		StatementSet:     "set",
		StatementCreate:  "create",
		StatementAlter:   "alter",
		StatementDrop:    "drop",
	},
	leaves: map[Left]string{
		TablesLeft: "select insert update delete with values begin start savepoint release explain analyze",
		PlaceLeft: `select insert update delete merge with values table copy explain show lock listen notify
			unlisten truncate analyze vacuum prepare deallocate set create alter drop begin start savepoint
			release commit end rollback abort`,
		SettingsLeft: "select insert update delete with values",
		CatalogLeft: `select insert update delete with values explain set show reset begin start commit end
			savepoint release rollback fetch`,
		TransactionLeft: "select insert update delete with",
		OneLeft:         "insert update delete select truncate comment lock analyze create alter drop",
	},
	marks: map[Marks]string{
		MarkBracket: `all analyse analyze and any array as asc both case check collate column constraint current_catalog
			current_date current_role current_time current_timestamp current_user default desc distinct do else end except
			false fetch for foreign from grouping having in intersect into lateral leading limit localtime localtimestamp not
			null offset on only or order primary references returning select session_user some symmetric table then
			to trailing true union unique user using when where window with
			between bigint bit boolean char character coalesce dec decimal exists extract float greatest int integer
			interval json_object
			least national nchar nullif numeric overlay position
			precision real row smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat
			xmlelement xmlexists xmlforest xmlparse xmlpi xmlroot xmlserialize xmltable cast
			by conflict cube escape filter group identity ilike is join key like materialized over partition
			rollup set sets similar tablesample varying within`,
		MarkFunction: `count sum avg min max array_agg string_agg json_agg jsonb_agg json_object_agg
			jsonb_object_agg bool_and bool_or every stddev stddev_pop stddev_samp variance var_pop var_samp
			bit_and bit_or percentile_cont percentile_disc mode
			row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
			now clock_timestamp statement_timestamp transaction_timestamp timeofday date_trunc date_part date_bin age
			date timestamptz second to_char to_date to_timestamp to_number make_date make_interval make_timestamp timezone isfinite
			lower upper initcap length char_length character_length octet_length bit_length btrim ltrim rtrim
			substr strpos replace translate format
			split_part concat concat_ws left right lpad rpad repeat reverse starts_with md5 sha256 encode decode
			quote_ident quote_literal ascii chr regexp_replace regexp_match regexp_matches regexp_split_to_array
			abs ceil ceiling floor round trunc mod div power sqrt exp ln log log10 sign random width_bucket
			pi sin cos tan asin acos atan atan2 radians degrees point polygon
			gen_random_uuid nextval currval lastval setval hashtext hashtextextended
			pg_advisory_lock pg_advisory_xact_lock pg_advisory_unlock pg_try_advisory_lock pg_try_advisory_xact_lock
			pg_sleep pg_notify pg_is_in_recovery pg_backend_pid version current_setting current_schema current_database
			txid_current pg_current_xact_id to_regclass pg_table_is_visible pg_get_expr format_type array_to_string
			generate_series unnest array_length array_append array_prepend array_remove array_position cardinality
			string_to_array row_to_json to_json to_jsonb json_build_object jsonb_build_object json_build_array
			jsonb_build_array jsonb_set jsonb_insert jsonb_strip_nulls jsonb_typeof json_typeof jsonb_array_length
			json_array_length jsonb_array_elements jsonb_array_elements_text json_array_elements jsonb_each
			jsonb_each_text jsonb_object_keys jsonb_path_query jsonb_path_exists jsonb_to_recordset
			json_to_recordset jsonb_populate_record to_tsvector to_tsquery plainto_tsquery websearch_to_tsquery ts_rank
			ts_rank_cd ts_headline setweight int4range int8range numrange tsrange tstzrange daterange lower_inf upper_inf`,
		MarkName:    "into as recursive references tablesample",
		MarkInto:    "into",
		MarkVerb:    "insert merge",
		MarkMakes:   "create execute declare refresh",
		MarkNames:   "create alter drop",
		MarkRenames: "rename sp_rename exchange",
		MarkDefines: "as schema",
		MarkFor:     "for",
		MarkAlone:   "concurrently",
	},
})
